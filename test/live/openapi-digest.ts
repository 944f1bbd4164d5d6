import { expect } from "vitest";
import type { DocumentedCalls } from "./openapi-request.ts";
import { TENANT } from "./openapi-request.ts";

/** All that a tenant's topics and groups show of themselves: a change of any of it changes the digest. */
export async function digestOf(calls: DocumentedCalls): Promise<Record<string, unknown>> {
  const digest: Record<string, unknown> = {};
  const read = async (id: string, params: Record<string, string> = {}) => {
    const reply = await calls.send(id, { params: { tenant: TENANT, ...params } });
    expect(reply.status, `${id}: ${reply.text}`).toBe(200);
    digest[[id, ...Object.values(params)].join(" ")] = reply.json;
    return reply.json;
  };
  await read("getSplit", { workload: "shop" });
  const { topics } = await read("listTopics");
  for (const topic of topics as string[]) {
    const { groups } = await read("getTopic", { topic });
    await read("listMessages", { topic });
    if (!topic.endsWith("_dlq")) await read("deadLetters", { topic });
    for (const { group } of groups as { group: string }[]) {
      // A heartbeat shows in the leases, a delivery in the lag and in what the topic says of its groups.
      for (const id of ["getGroup", "lag", "leases", "listRoutes"]) await read(id, { topic, group });
    }
  }
  return digest;
}
