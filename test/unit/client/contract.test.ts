import { describe, expect, expectTypeOf, test } from "vitest";
import type { z } from "zod";
import type * as client from "../../../src/client/fairlane.ts";
import { Admin, Fairlane } from "../../../src/client/fairlane.ts";
import type * as deadLetters from "../../../src/protocol/dead-letters.ts";
import type * as explain from "../../../src/protocol/explain.ts";
import type * as fields from "../../../src/protocol/fields.ts";
import type * as groups from "../../../src/protocol/groups.ts";
import type * as messages from "../../../src/protocol/messages.ts";
import { type OperationId, operations } from "../../../src/protocol/operations.ts";
import type * as overview from "../../../src/protocol/overview.ts";
import type { Problem } from "../../../src/protocol/problem.ts";
import type * as progress from "../../../src/protocol/progress.ts";
import type * as publish from "../../../src/protocol/publish.ts";
import type * as receive from "../../../src/protocol/receive.ts";
import type * as routes from "../../../src/protocol/routes.ts";
import type * as settle from "../../../src/protocol/settle.ts";
import type { splitOperations } from "../../../src/protocol/split-operations.ts";
import type * as topics from "../../../src/protocol/topics.ts";
import { json, type Sent, Wire } from "./wire.ts";

// The client writes its types out, so that its users need no schema library. The compiler holds them to the schemas.

type Reply<Schema extends z.ZodType> = z.output<Schema>;
type Request<Schema extends z.ZodType> = z.input<Schema>;
/** The client reads `bodyText` out of the reply. */
type OnWire<T> = Omit<T, "bodyText">;
type ListOf<Page, Name extends keyof Page> = Page[Name] extends (infer Row)[] ? Row : never;

describe("the client's types are the protocol's", () => {
  test("of publishing and consuming", () => {
    expectTypeOf<client.PublishResult>().toEqualTypeOf<
      ListOf<Reply<typeof publish.publishReply>, "messages">
    >();
    expectTypeOf<client.ReceiveRequest>().toEqualTypeOf<Request<typeof receive.receiveRequest>>();
    expectTypeOf<OnWire<client.Delivery>>().toEqualTypeOf<Reply<typeof receive.delivery>>();
    expectTypeOf<client.ReceiveReply["deliveries"]>().toEqualTypeOf<client.Delivery[]>();
    expectTypeOf<Omit<client.ReceiveReply, "deliveries">>().toEqualTypeOf<
      Omit<Reply<typeof receive.receiveReply>, "deliveries">
    >();
    expectTypeOf<client.SettleRequest>().toEqualTypeOf<Request<typeof settle.settleRequest>>();
    expectTypeOf<client.Settlement>().toEqualTypeOf<Request<typeof settle.settlement>>();
    expectTypeOf<client.SettleReply>().toEqualTypeOf<Reply<typeof settle.settleReply>>();
    expectTypeOf<client.HeartbeatReply>().toEqualTypeOf<Reply<typeof groups.heartbeatReply>>();
    expectTypeOf<client.DeadLetterInfo>().toEqualTypeOf<Reply<typeof fields.deadLetter>>();
  });

  test("of bodies: one of three to publish, and its text where it was JSON", () => {
    expectTypeOf<{ body: unknown }>().toExtend<client.NewMessage>();
    expectTypeOf<{ bodyText: string }>().toExtend<client.NewMessage>();
    expectTypeOf<{ bytes: Uint8Array; contentType: string }>().toExtend<client.NewMessage>();
    expectTypeOf<{ body: unknown; bodyText: string }>().not.toExtend<client.NewMessage>();
    expectTypeOf<{ bodyText: string; bytes: Uint8Array }>().not.toExtend<client.NewMessage>();
    expectTypeOf<{ bodyText: string; contentType: string }>().not.toExtend<client.NewMessage>();
    expectTypeOf<client.Message["bodyText"]>().toEqualTypeOf<string | undefined>();
    expectTypeOf<client.Delivery["bodyText"]>().toEqualTypeOf<string | undefined>();
    expectTypeOf<client.StoredMessageWithBody["bodyText"]>().toEqualTypeOf<string | undefined>();
  });

  test("of settings", () => {
    expectTypeOf<client.Group>().toEqualTypeOf<Reply<typeof groups.groupReply>>();
    expectTypeOf<client.GroupSettingsChange>().toEqualTypeOf<Request<typeof groups.putGroupRequest>>();
    expectTypeOf<client.TopicSettings>().toEqualTypeOf<Reply<typeof topics.topicSettingsReply>>();
    expectTypeOf<client.TopicSettingsChange>().toEqualTypeOf<Request<typeof topics.putTopicRequest>>();
  });

  test("of what operators see", () => {
    expectTypeOf<client.Topic>().toEqualTypeOf<Reply<typeof topics.topicReply>>();
    expectTypeOf<client.TopicList>().toEqualTypeOf<Reply<typeof topics.topicsReply>>();
    expectTypeOf<client.MessagePage>().toEqualTypeOf<Reply<typeof messages.messagesReply>>();
    expectTypeOf<OnWire<client.StoredMessageWithBody>>().toEqualTypeOf<Reply<typeof messages.messageReply>>();
    expectTypeOf<client.Deleted>().toEqualTypeOf<Reply<typeof messages.deletedReply>>();
    expectTypeOf<client.LagPage>().toEqualTypeOf<Reply<typeof progress.lagReply>>();
    expectTypeOf<client.OffsetReset>().toEqualTypeOf<Reply<typeof progress.resetOffsetReply>>();
    expectTypeOf<client.LeaseList>().toEqualTypeOf<Reply<typeof progress.leasesReply>>();
    expectTypeOf<client.DeadLetterPage>().toEqualTypeOf<Reply<typeof deadLetters.deadLettersReply>>();
    expectTypeOf<client.RedriveRequest>().toEqualTypeOf<Request<typeof deadLetters.redriveRequest>>();
    expectTypeOf<client.Redriven>().toEqualTypeOf<Reply<typeof deadLetters.redriveReply>>();
    expectTypeOf<client.Collected>().toEqualTypeOf<Reply<typeof progress.collectReply>>();
    expectTypeOf<client.Health>().toEqualTypeOf<Reply<typeof progress.healthReply>>();
    expectTypeOf<client.Overview>().toEqualTypeOf<Reply<typeof overview.overviewReply>>();
    expectTypeOf<client.SubscriberList>().toEqualTypeOf<Reply<typeof overview.subscribersReply>>();
  });

  test("of routes, but for their filters, which the schema leaves to a parser", () => {
    expectTypeOf<Omit<client.Route, "filter">>().toEqualTypeOf<
      Omit<Reply<typeof routes.routeReply>, "filter">
    >();
    expectTypeOf<client.RouteList["application"]>().toEqualTypeOf<
      Reply<typeof routes.routesReply>["application"]
    >();
    expectTypeOf<client.RouteList["routes"]>().toEqualTypeOf<client.Route[]>();
    expectTypeOf<Omit<client.RouteRequest, "filter">>().toEqualTypeOf<
      Omit<Request<typeof routes.putRouteRequest>, "filter">
    >();
    expectTypeOf<client.RouteRequest["filter"]>().toEqualTypeOf<
      Reply<typeof routes.putRouteRequest>["filter"]
    >();
  });

  test("of explanations and errors", () => {
    expectTypeOf<client.Blocker>().toEqualTypeOf<Reply<typeof explain.blocker>>();
    expectTypeOf<client.Explanation>().toEqualTypeOf<Reply<typeof explain.explanation>>();
    expectTypeOf<client.WaitingLanes>().toEqualTypeOf<Reply<typeof explain.waitingLanesReply>>();
    expectTypeOf<client.Witness>().toEqualTypeOf<NonNullable<Problem["witness"]>>();
    expectTypeOf<client.RequestIssue>().toEqualTypeOf<NonNullable<Problem["issues"]>[number]>();
  });
});

const ref = { id: "m/1 é", partitionKey: "p" };

/** Each call of the API, with everything that it takes. */
const CALLS: Record<
  // The managers of brokered splits have callers of their own.
  Exclude<OperationId, "publishRaw" | "openapi" | keyof typeof splitOperations>,
  (client: Fairlane) => Promise<unknown>
> = {
  publish: (client) => client.publish("t", { ...ref, body: 1, headers: { h: "v" }, delayMs: 1 }),
  receive: (client) =>
    client.receive("t", "g", {
      subscriber: "s",
      maxMessages: 5,
      waitMs: 1000,
      visibilityTimeoutMs: 1000,
      route: "r",
    }),
  settle: (client) =>
    client.settle("t", "g", {
      subscriber: "s",
      settlements: [{ receipt: "r", action: "postpone", delayMs: 1 }],
    }),
  heartbeat: (client) => client.heartbeat("t", "g", "s"),
  leave: (client) => client.leave("t", "g", "s"),
  putGroup: ({ admin }) => admin.putGroup("t", "g", { paused: true, retry: { multiplier: 2 } }),
  getGroup: ({ admin }) => admin.getGroup("t", "g"),
  deleteGroup: ({ admin }) => admin.deleteGroup("t", "g", { force: true }),
  putTopic: ({ admin }) => admin.putTopic("t", { retentionMs: 1000 }),
  getTopic: ({ admin }) => admin.getTopic("t"),
  listTopics: ({ admin }) => admin.listTopics(),
  listMessages: ({ admin }) => admin.listMessages("t", { partitionKey: "p", last: 5 }),
  getMessage: ({ admin }) => admin.getMessage("t", { ...ref, offset: 3 }),
  deleteMessage: ({ admin }) => admin.deleteMessage("t", ref),
  purgeMessages: ({ admin }) => admin.purgeMessages("t"),
  lag: ({ admin }) => admin.lag("t", "g", { after: "k", limit: 5 }),
  resetOffset: ({ admin }) => admin.resetOffset("t", "g", { partitionKey: "p", offset: 0 }),
  leases: ({ admin }) => admin.leases("t", "g", { staleForMs: 5 }),
  releaseLease: ({ admin }) => admin.releaseLease("t", "g", { partitionKey: "p" }),
  putRoute: ({ admin }) =>
    admin.putRoute("t", "g", "r", { filter: { header: "h", equals: "v" }, ttlMs: 5000 }),
  getRoute: ({ admin }) => admin.getRoute("t", "g", "r"),
  listRoutes: ({ admin }) => admin.listRoutes("t", "g"),
  deleteRoute: ({ admin }) => admin.deleteRoute("t", "g", "r"),
  explain: ({ admin }) => admin.explain("t", "g", ref),
  waitingLanes: ({ admin }) => admin.waitingLanes("t", "g", { limit: 5 }),
  subscribers: ({ admin }) => admin.subscribers("t", "g"),
  overview: ({ admin }) => admin.overview({ after: "t", limit: 5 }),
  deadLetters: ({ admin }) => admin.deadLetters("t", { after: 5, limit: 5 }),
  redrive: ({ admin }) => admin.redrive("t", { ids: [ref], group: "g", limit: 5 }),
  purgeDeadLetters: ({ admin }) => admin.purgeDeadLetters("t"),
  collect: ({ admin }) => admin.collect(),
  health: ({ admin }) => admin.health(),
};

describe("the client's calls are the protocol's", () => {
  test("each has a method of its name", () => {
    const methods = [Fairlane, Admin].flatMap(({ prototype }) => Object.getOwnPropertyNames(prototype));
    expect(methods).toEqual(expect.arrayContaining(Object.keys(CALLS)));
  });

  test.each(Object.entries(CALLS))("%s is what the server expects", async (id, call) => {
    const operation = operations[id as OperationId];
    const lists = { messages: [{}], deliveries: [], results: [{}] };
    const wire = new Wire(() => json(lists));
    await call(wire.client());
    expect(wire.sent).toHaveLength(1);
    const { method, path, text, json: body } = wire.sent[0] as Sent;
    const { pathname, searchParams } = new URL(path, "http://x");
    expect(method).toBe(operation.method);
    expect(pathname).toBe(
      operation.path
        .replace("{tenant}", "demo")
        .replace("{topic}", "t")
        .replace("{group}", "g")
        .replace("{subscriber}", "s")
        .replace("{route}", "r"),
    );
    // With all that the call can take: nothing is left out on the way.
    const query = operation.query.parse(Object.fromEntries(searchParams)) as object;
    const taken = Object.keys(operation.query.toJSONSchema({ io: "input" }).properties ?? {});
    const notTogether = { explain: ["offset"], listMessages: ["after", "limit"] }[id] ?? [];
    expect(Object.keys(query)).toEqual(
      expect.arrayContaining(taken.filter((name) => !notTogether.includes(name))),
    );
    const spec = operation.body as { schema?: z.ZodType };
    if (spec.schema === undefined) expect(text).toBe("");
    else spec.schema.parse(body);
  });
});
