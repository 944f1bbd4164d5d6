import type { SourcePatch } from "./source-patches.ts";

/** Faults in what keeps the parties of a split group apart, and in what joins them again. */
export const SPLIT_PATCHES: readonly SourcePatch[] = [
  {
    name: "a route that begins without lanes beside",
    guarantee: "G2",
    title: "lanes that lag",
    edits: [{ file: "durable/route-life.ts", find: "beside.behind = lane.hasUnwalked;", replace: "" }],
  },
  {
    name: "a merge that drops the window",
    guarantee: "G2",
    title: "lanes that lag",
    edits: [
      {
        file: "core/merge-lanes.ts",
        find: "const entries = lane.window.filter(({ offset }) => offset <= through);",
        replace: "const entries: LaneEntry[] = [];",
      },
    ],
  },
  {
    name: "pending ranges that are forgotten with the memory",
    guarantee: "G2",
    title: "lanes that lag",
    edits: [
      {
        file: "durable/tables/partition-leases.ts",
        find: "lane.pending = decodePending(String(row.pending_ranges));",
        replace: "",
      },
    ],
  },
  {
    name: "unsorted messages that go to the application",
    guarantee: "split",
    title: "routes that expire",
    edits: [
      {
        file: "core/walk.ts",
        find: 'return { kind: "unsorted", attempt: verdict.attempt };',
        replace: "return verdict;",
      },
    ],
  },
  {
    name: "an expiry that gives nothing back",
    guarantee: "G5",
    title: "routes that expire",
    edits: [
      {
        file: "durable/route-life.ts",
        find: "{ giveBack: true }",
        replace: "{ giveBack: false }",
      },
    ],
  },
  {
    name: "a DELETE that gives back what is under way",
    guarantee: "G5",
    title: "routes, calm",
    edits: [
      {
        file: "durable/commands/routes.ts",
        find: "if (route) endRoute(group, route.routeId, { giveBack: false }, nowMs);",
        replace: "if (route) endRoute(group, route.routeId, { giveBack: true }, nowMs);",
      },
    ],
  },
  {
    name: "a route that no call of its subscribers renews",
    guarantee: "split",
    title: "routes, calm",
    edits: [
      {
        file: "durable/route-life.ts",
        find: "group.routes.renew(routeId, nowMs);\n}",
        replace: "}",
      },
      { file: "durable/care.ts", find: "group.routes.renew(known.routeId, nowMs);", replace: "" },
      { file: "durable/commands/settle.ts", find: "group.routes.renew(lane.routeId, nowMs);", replace: "" },
    ],
  },
  {
    name: "what a route consumed read again by the application",
    guarantee: "G2",
    title: "routes, calm",
    edits: [
      {
        file: "durable/route-life.ts",
        find: "lanes.push(group.laneOrNew(partitionKey, scanOffset, routeId));",
        replace: "",
      },
    ],
  },
  {
    name: "collection that ignores the lanes of routes",
    guarantee: "G10",
    title: "collection",
    edits: [
      {
        file: "core/unsettled.ts",
        find: "return view.split ? [...own, ...view.split.routeLanes(partitionKey)] : own;",
        replace: "return own;",
      },
    ],
  },
];

/** The same where the log is outside the object. */
export const LATE_SPLIT_PATCHES: readonly SourcePatch[] = [
  {
    name: "a checkpoint that ignores the lanes of routes",
    guarantee: "G2",
    title: "late: loss",
    edits: [
      {
        file: "durable/checkpoint-pass.ts",
        find: "  for (const lane of lanes) {\n    if (lane.hasUnwalked)",
        replace:
          "  for (const lane of lanes.filter(({ routeId }) => routeId === 0)) {\n    if (lane.hasUnwalked)",
      },
    ],
  },
];
