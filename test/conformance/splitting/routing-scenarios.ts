import { expect } from "vitest";
import { compileFilter } from "../../../src/splitting/filter/compile-filter.ts";
import { pairsSubject } from "../../../src/splitting/filter/subject.ts";
import { EventRefused } from "./keeper.ts";
import type { RouteWish } from "./life.ts";
import { messageOf, routeOf, USER_HEADER } from "./samples.ts";
import type { HeaderValue, SplitMessage } from "./split-message.ts";
import type { Scenario } from "./splitting-suite.ts";

const text = new TextEncoder();

/** Headers that look like alice's, and whether they are. */
const EDGES: readonly { what: string; headers: [string, HeaderValue][]; hers: boolean }[] = [
  { what: "plain", headers: [[USER_HEADER, "alice"]], hers: true },
  {
    what: "repeated-last",
    headers: [
      [USER_HEADER, "bob"],
      [USER_HEADER, "alice"],
    ],
    hers: true,
  },
  {
    what: "repeated-first",
    headers: [
      [USER_HEADER, "alice"],
      [USER_HEADER, "bob"],
    ],
    hers: false,
  },
  { what: "name-in-capitals", headers: [["X-User", "alice"]], hers: false },
  { what: "value-in-capitals", headers: [[USER_HEADER, "Alice"]], hers: false },
  { what: "with-a-space", headers: [[USER_HEADER, "alice "]], hers: false },
  { what: "empty", headers: [[USER_HEADER, ""]], hers: false },
  { what: "absent", headers: [], hers: false },
  { what: "bytes-that-are-text", headers: [[USER_HEADER, text.encode("alice")]], hers: true },
  { what: "bytes-that-are-not", headers: [[USER_HEADER, new Uint8Array([0xff, 0xfe])]], hers: false },
  {
    what: "last-is-no-text",
    headers: [
      [USER_HEADER, "alice"],
      [USER_HEADER, new Uint8Array([0xff])],
    ],
    hers: false,
  },
  { what: "number", headers: [[USER_HEADER, { int64: 7n }]], hers: false },
  { what: "null", headers: [[USER_HEADER, null]], hers: false },
  { what: "table", headers: [[USER_HEADER, { table: [[USER_HEADER, "alice"]] }]], hers: false },
];

/** One of everything that a message can carry. */
function everything(id: string, user: string, body: Uint8Array | null): SplitMessage {
  return {
    id,
    key: "order-7",
    body,
    headers: [
      [USER_HEADER, user],
      ["small", { int8: 1 }],
      ["large", { int64: 9_007_199_254_740_993n }],
      ["one", { double: 1 }],
      ["fraction", { double: 1.1 }],
      ["yes", true],
      ["nothing", null],
      ["raw", new Uint8Array([0, 255, 254])],
      ["when", { timestamp: 1_700_000_000n }],
      ["nested", { table: [["list", { list: ["a", { int8: 2 }, { table: [] }] }]] }],
      ["again", "first"],
      ["again", "second"],
      ["", "an empty name"],
    ],
    properties: {
      priority: { int8: 9 },
      timestamp: { timestamp: 1n },
      "content-type": "text/plain",
      "reply-to": "",
    },
  };
}

function wish(route: string, filter: RouteWish["filter"], wants: RouteWish["wants"]): RouteWish {
  return { route, filter, wants };
}

export const routingScenarios: readonly Scenario[] = [
  {
    number: 4,
    title: "two routes and the rest, each in one place, from the moment that the table is acknowledged",
    over: true,
    async run(scene) {
      const { life } = scene;
      const before = await scene.publish("alice", "carol");
      await life.to("Active");
      await life.startRoute(routeOf("alice"), { attach: false });
      const [forAlice, forBobYet] = await scene.publish("alice", "bob");
      await scene.untilIn(0, 1);
      await scene.untilIn("application", 3);
      await life.startRoute(routeOf("bob"), { attach: false });
      const later = await scene.publish("bob", "alice", "carol", "alice", "bob");
      await scene.untilIn(0, 3);
      await scene.untilIn(1, 2);
      await scene.untilIn("application", 4);
      expect(await scene.idsEverIn(0)).toEqual([forAlice, later[1], later[3]]);
      expect(await scene.idsEverIn(1)).toEqual([later[0], later[4]]);
      expect(await scene.idsEverIn("application")).toEqual([...before, forBobYet, later[2]]);
      // Once more it changes nothing.
      await life.engine.reconcileRoutes(life.table());
      await life.engine.start(life.table());
      await life.attachDeveloper("alice");
      await life.attachDeveloper("bob");
      await scene.untilHandled([...before, forAlice ?? "", forBobYet ?? "", ...later]);
      expect(scene.handledBy("alice")).toEqual(await scene.idsEverIn(0));
      expect(scene.handledBy("bob")).toEqual(await scene.idsEverIn(1));
      await scene.finish();
    },
  },
  {
    number: 5,
    title: "an overlap is refused with a witness",
    over: true,
    async run(scene) {
      const { life } = scene;
      const first = { header: USER_HEADER, prefix: "a" };
      const second = { header: USER_HEADER, matches: ".*b" };
      await life.to("Active");
      await life.startRoute(
        wish("alice", first, (id) => id === "witness"),
        { attach: false },
      );
      const refused = await life.startRoute(wish("bob", second, () => true)).then(
        () => null,
        (reason: unknown) => reason,
      );
      if (!(refused instanceof EventRefused)) throw refused;
      const { route, witness } = refused.overlap ?? {};
      expect(route).toBe("alice");
      expect(life.route("bob")).toBeUndefined();
      // The witness is a message that both would take; the one that was first gets it.
      const headers = Object.entries(witness?.headers ?? {});
      for (const filter of [first, second]) {
        expect(compileFilter(filter).matches(pairsSubject(headers, null))).toBe(true);
      }
      await scene.publishMessages([{ ...messageOf("", 0), id: "witness", headers }]);
      await scene.untilIn(0, 1);
      await life.attachDeveloper("alice");
      await scene.untilHandled(["witness"]);
      await scene.finish();
    },
  },
  {
    number: 6,
    title: "header edge cases",
    over: true,
    async run(scene) {
      const { life } = scene;
      await life.to("Active");
      const hers = EDGES.filter((edge) => edge.hers).map(({ what }) => what);
      await life.startRoute({ ...routeOf("alice"), wants: (id) => hers.includes(id) });
      await scene.publishMessages(
        EDGES.map(({ what, headers }, n) => ({ ...messageOf("", n), id: what, headers })),
      );
      await scene.untilHandled(EDGES.map(({ what }) => what));
      expect(scene.handledBy("alice")).toEqual(hers);
      await scene.finish();
    },
  },
  {
    number: 7,
    title: "fidelity: headers of every type, properties, null and empty bodies",
    over: true,
    async run(scene) {
      const { life, probe } = scene;
      const bodies = [new Uint8Array([0, 1, 255]), new Uint8Array(), null];
      const hers = bodies.map((body, n) => everything(`${n}-alice`, "alice", body));
      const others = bodies.map((body, n) => everything(`${n}-carol`, "carol", body));
      await life.to("Active");
      await life.startRoute(routeOf("alice"), { attach: false });
      await scene.publishMessages([...hers, ...others]);
      await scene.untilIn(0, hers.length);
      await scene.untilIn("application", others.length);
      expect(await probe.everIn(0)).toEqual(hers);
      expect(await probe.everIn("application")).toEqual(others);
      await life.endRoute("alice");
      expect(await probe.everIn("application")).toEqual([...others, ...hers]);
      await scene.finish();
    },
  },
  {
    number: 8,
    title: "copies by header: one in all, and a missing shadow is noticed",
    over: true,
    async run(scene) {
      const { life, probe } = scene;
      await probe.makeUsersQueue("audit");
      scene.users.push("audit");
      const copied = (n: number, user: string) =>
        messageOf(user, n, {
          headers: [
            [USER_HEADER, user],
            ["CC", { list: ["audit"] }],
            ["BCC", "audit"],
          ],
        });
      await life.to("Active");
      await life.startRoute(routeOf("alice"));
      await scene.publishMessages([copied(101, "alice"), copied(102, "carol")]);
      await scene.untilHandled(["101-alice", "102-carol"]);
      // One of the user's own, and one of each publish to the source.
      expect(await probe.countIn("audit")).toBe(3);
      await probe.deleteByHand(probe.names.nameOf("route-shadow", 0));
      await scene.publishMessages([copied(103, "alice")]);
      await life.until("the pump stands", () => life.agent.stoppedBy?.kind === "ShadowUnsafe");
      await probe.settleDown();
      expect(await scene.idsWaiting("source")).toEqual(["103-alice"]);
      expect(await probe.countIn("audit")).toBe(4);
      await life.makeAgain(probe.names.nameOf("route-shadow", 0));
      await life.restart();
      await life.attachDeveloper("alice");
      await scene.untilHandled(["103-alice"]);
      await scene.finish();
    },
  },
];
