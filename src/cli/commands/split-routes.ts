import type { Command } from "commander";
import type { LaneCounts, Route } from "../../client/fairlane.ts";
import type { Cli } from "../cli.ts";
import { durationText } from "../durations.ts";
import { ageCell, counted, countText, facts } from "../figures.ts";
import { endedLine, filterShown } from "../route-text.ts";
import type { Run } from "../run.ts";
import { momentText } from "../times.ts";
import { ttlFlag } from "./split-start.ts";

const MAX_FILTER_CHARS = 60;
const COLUMNS = [
  { title: "ROUTE" },
  { title: "FILTER", maxChars: MAX_FILTER_CHARS },
  { title: "DELIVERED", align: "right" },
  { title: "UNSETTLED", align: "right" },
  { title: "IN FLIGHT", align: "right" },
  { title: "SUBSCRIBERS", align: "right" },
  { title: "EXPIRES" },
] as const;
/** No route has such a name. */
const APPLICATION = "(application)";

/** How a group is split. */
export function splitList(cli: Cli): Command {
  return cli
    .command("list <topic> <group>", {
      summary: "a group's routes, and where its messages went",
      about: "Looking renews nothing.",
      examples: [["split list orders billing", "a line for each route, and one for the application"]],
    })
    .action(
      cli.action(async (run, [topic = "", group = ""]) => {
        const reply = await run.fairlane.admin.listRoutes(topic, group);
        const { routes, application } = reply;
        const rows = routes.map((one) => [
          one.route,
          filterShown(one.filter),
          ...cellsOf(one),
          ageCell(run, one.expiresAt),
        ]);
        const rest = [APPLICATION, "all others", ...cellsOf(application), ""];
        await run.out.result(reply, () => (rows.length === 0 ? "" : run.out.table(COLUMNS, [...rows, rest])));
        if (rows.length === 0)
          run.out.note(`group ${group} has no routes: all messages are the application's`);
      }),
    );
}

function cellsOf({ delivered, backlog, atLeast, inFlight, subscribers }: LaneCounts) {
  return [delivered, countText(backlog, atLeast), inFlight, subscribers];
}

export function splitShow(cli: Cli): Command {
  return cli
    .command("show <topic> <group> <route>", {
      summary: "one route, with its filter and its numbers",
      about: "Looking does not renew it.",
      examples: [["split show orders billing alice", "what it takes, and what became of that"]],
    })
    .action(
      cli.action(async (run, [topic = "", group = "", route = ""]) => {
        run.route = route;
        const reply = await run.fairlane.admin.getRoute(topic, group, route);
        await run.out.result(reply, () => routeText(run, reply));
      }),
    );
}

function routeText(run: Run, route: Route): string {
  const { delivered, backlog, atLeast, inFlight, subscribers, ttlMs, startedAt, expiresAt } = route;
  return facts([
    ["route", route.route],
    ["filter", run.out.name(filterShown(route.filter))],
    ["delivered", counted(delivered, "message")],
    ["unsettled", countText(backlog, atLeast)],
    ["in flight", String(inFlight)],
    ["subscribers", String(subscribers)],
    ["started", momentText(startedAt, run.nowMs)],
    ["expires", `${momentText(expiresAt, run.nowMs)}, unless it is renewed`],
    ["lives without", durationText(ttlMs)],
  ]);
}

export function splitStop(cli: Cli): Command {
  return cli
    .command("stop <topic> <group> <route>", {
      summary: "end a route: what it has not settled goes back to the application",
      about: "Whoever keeps it, such as fairlane split start, starts it again: stop that one instead.",
      examples: [["split stop orders billing alice", "says how many messages went where"]],
    })
    .action(
      cli.action(async (run, [topic = "", group = "", route = ""]) => {
        run.route = route;
        const { admin } = run.fairlane;
        const last = await admin.getRoute(topic, group, route);
        await admin.deleteRoute(topic, group, route);
        await run.out.done({ route: last, wentBack: last.backlog }, endedLine(last, null));
      }),
    );
}

export function splitRenew(cli: Cli): Command {
  return cli
    .command("renew <topic> <group> <route>", {
      summary: "let a route live on, for its time from now",
      examples: [
        ["split renew orders billing alice", "for as long as it was started for"],
        ["split renew orders billing alice --ttl 1h", "for an hour"],
      ],
    })
    .option("--ttl <duration>", "for so long without a renewal, from now on", ttlFlag)
    .action(
      cli.action<{ ttl?: number }>(async (run, [topic = "", group = "", route = ""], { ttl }) => {
        run.route = route;
        const { admin } = run.fairlane;
        const { filter, ttlMs } = await admin.getRoute(topic, group, route);
        const renewed = await admin.putRoute(topic, group, route, { filter, ttlMs: ttl ?? ttlMs });
        const until = momentText(run.nowMs + renewed.ttlMs, run.nowMs);
        await run.out.done(renewed, `route ${route} lives on: it ends ${until}, unless it is renewed`);
      }),
    );
}
