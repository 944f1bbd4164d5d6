import { expect } from "vitest";
import type { Reply } from "./api.ts";
import type { Live } from "./harness.ts";
import type { NewWireMessage, WireLaneCounts, WireRoute } from "./wire.ts";

/** Calls about the routes of one group, as anyone with `curl` makes them. */
export interface GroupRoutes {
  put(route: string, filter: unknown, more?: object): Promise<Reply<WireRoute>>;
  /** Puts it and expects 200. */
  start(route: string, filter: unknown, more?: object): Promise<WireRoute>;
  get(route: string): Promise<Reply<WireRoute>>;
  list(): Promise<Reply<{ routes: WireRoute[]; application: WireLaneCounts }>>;
  end(route: string): Promise<Reply<unknown>>;
}

export function routesOf(live: Live, topic: string, { tenant = "demo", group = "g" } = {}): GroupRoutes {
  const path = `topics/${topic}/groups/${group}/routes`;
  const api = live.api(tenant);
  const put: GroupRoutes["put"] = (route, filter, more) =>
    api.request("PUT", `${path}/${route}`, { json: { filter, ...more } });
  return {
    put,
    start: async (...args) => {
      const { status, text, json } = await put(...args);
      expect(status, text).toBe(200);
      return json;
    },
    get: (route) => api.request("GET", `${path}/${route}`),
    list: () => api.request("GET", path),
    end: (route) => api.request("DELETE", `${path}/${route}`),
  };
}

export const dev = (name: string) => ({ header: "x-dev", equals: name });

/** `a1`, `a2` are alice's, `b1` is bob's, any other is nobody's. */
export function messagesFor(ids: readonly string[], partitionKey = "k"): NewWireMessage[] {
  const names: Record<string, string> = { a: "alice", b: "bob" };
  return ids.map((id) => {
    const name = names[id[0] ?? ""];
    return { id, partitionKey, body: id, ...(name === undefined ? {} : { headers: { "X-Dev": name } }) };
  });
}
