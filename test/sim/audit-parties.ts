import { type AuditModel, type Delivery, ENDLESS, type GroupAudit } from "./audit-model.ts";
import type { Call } from "./history.ts";
import { takes } from "./route-filter.ts";

/** Each message goes to whom the routes of that instant say; routes are disjoint, and calls about them tell the truth. */
export function auditParties(model: AuditModel, group: GroupAudit): void {
  auditDisjoint(model, group);
  for (const deliveries of group.deliveries.values()) {
    for (const delivery of deliveries) auditParty(model, group, delivery);
  }
  for (const call of model.history.of("putRoute")) if (isOurs(group, call)) auditPut(model, group, call);
  for (const call of model.history.of("deleteRoute"))
    if (isOurs(group, call)) auditDelete(model, group, call);
  auditExpiries(model, group);
}

function isOurs(
  { topic, group }: GroupAudit,
  { input }: { input: { topic: string; group: string } },
): boolean {
  return input.topic === topic && input.group === group;
}

function auditParty(model: AuditModel, group: GroupAudit, { row, routeId, table }: Delivery): void {
  const { parties } = group;
  const owner = parties.ownerAt(table, row);
  if (owner === routeId) return;
  const whose = `is of ${parties.nameOf(owner)} and went to ${parties.nameOf(routeId)}`;
  model.history.violate("split", `${model.describe(group, row)} with headers ${row.headers} ${whose}`);
}

function auditDisjoint(model: AuditModel, { parties, rows, topic, group }: GroupAudit): void {
  for (let table = 0; table < parties.tables.length; table += 1) {
    const routes = parties.routesAt(table);
    if (routes.length < 2 || (table > 0 && routes === parties.routesAt(table - 1))) continue;
    for (const row of rows) {
      const takers = routes.filter(({ filter }) => takes(filter, row));
      if (takers.length < 2) continue;
      const names = takers.map(({ route }) => route).join(" and ");
      model.history.violate("split", `${topic}/${group}: ${names} lived together and both take ${row.id}`);
      return;
    }
  }
}

/** Places of the tables that were in force at some time of the call. */
function tablesDuring(
  { parties }: GroupAudit,
  { startSeq, endSeq }: Pick<Call, "startSeq" | "endSeq">,
): number[] {
  const during: number[] = [];
  for (const [at, { seq }] of parties.tables.entries()) {
    const next = parties.tables[at + 1]?.seq ?? ENDLESS;
    if (seq <= (endSeq ?? ENDLESS) && next >= startSeq) during.push(at);
  }
  return during;
}

function auditPut(model: AuditModel, group: GroupAudit, call: Call<"putRoute">): void {
  const { outcome, input } = call;
  if (!outcome) return;
  const { parties } = group;
  const during = tablesDuring(group, call);
  const what = `${group.topic}/${group.group}: the PUT of route ${input.route}`;
  if (outcome.ok) {
    const filter = JSON.stringify(input.filter);
    const began = during.some((table) =>
      parties
        .routesAt(table)
        .some((one) => one.route === input.route && JSON.stringify(one.filter) === filter),
    );
    if (!began) model.history.violate("split", `${what} was answered, and there was no such route`);
    return;
  }
  const { error } = outcome;
  if (error.code !== "route-overlap") return;
  const { headers, key } = error.witness as { headers: Record<string, string>; key?: string };
  const witness = { headers: JSON.stringify(headers), partitionKey: key ?? "" };
  const other = during
    .flatMap((table) => parties.routesAt(table))
    .find(({ route, filter }) => route === error.route && takes(filter, witness));
  if (other && takes(input.filter, witness)) return;
  model.history.violate("split", `${what} was refused for ${error.route} with a witness that not both take`);
}

function auditDelete(model: AuditModel, group: GroupAudit, call: Call<"deleteRoute">): void {
  const { outcome, input } = call;
  if (!outcome?.ok) return;
  const without = tablesDuring(group, call).some((table) => group.parties.idOf(table, input.route) === null);
  if (without) return;
  model.history.violate(
    "split",
    `${group.topic}/${group.group}: the DELETE of ${input.route} was answered, and it lived on`,
  );
}

/** A route that somebody renewed does not expire: what is lost of a renewal with a crash is small. */
function auditExpiries(model: AuditModel, { parties, topic, group }: GroupAudit): void {
  for (const { byExpiry, idleMs, mayExpireAfterMs, route } of parties.ends) {
    if (byExpiry !== "surely" || idleMs === null || idleMs >= mayExpireAfterMs) continue;
    const when = `${idleMs} ms after it was renewed for ${mayExpireAfterMs} at least`;
    model.history.violate("split", `${topic}/${group}: route ${route} expired ${when}`);
  }
}
