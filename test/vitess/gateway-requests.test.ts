import { once } from "node:events";
import { connect as connectSocket } from "node:net";
import { connect } from "@planetscale/database";
import { expect, test } from "vitest";
import { type Gateway, startGateway } from "../../src/gateway/gateway.ts";
import { client, gatewayPlace, PASSWORD, refusal, USER } from "./gateway-place.ts";

const place = gatewayPlace();
const EXECUTE = "/psdb.v1alpha1.Database/Execute";
const BASIC = `Basic ${btoa(`${USER}:${PASSWORD}`)}`;

interface Changed {
  path?: string;
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
}

/** A good Execute, except for what is changed. */
async function send(gateway: Gateway, { path = EXECUTE, method = "POST", headers, body }: Changed) {
  const response = await fetch(`http://${gateway.host}:${gateway.port}${path}`, {
    method,
    headers: { "Content-Type": "application/json", Authorization: BASIC, ...headers },
    ...(method === "GET" ? {} : { body: (body ?? '{"query":"SELECT 1"}') as never }),
  });
  const text = await response.text();
  return { status: response.status, body: JSON.parse(text) as { error?: { code: string; message: string } } };
}

test("the URL is all that the driver needs; so are host and credentials apart", async () => {
  const gateway = await place.start();
  expect(gateway.url).toBe(`http://${USER}:${PASSWORD}@127.0.0.1:${gateway.port}`);
  expect((await connect({ url: gateway.url }).execute("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  const apart = connect({
    host: `127.0.0.1:${gateway.port}`,
    username: USER,
    password: PASSWORD,
    // Without a URL the driver speaks TLS.
    fetch: (url, init) => fetch(url.replace("https:", "http:"), init as RequestInit),
  });
  expect((await apart.execute("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
});

test("a session may be asked for", async () => {
  const gateway = await place.start();
  const connection = client(gateway);
  await connection.refresh();
  expect((await connection.execute("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  const { status, body } = await send(gateway, {
    path: EXECUTE.replace("Execute", "CreateSession"),
    body: "{}",
  });
  expect(status).toBe(200);
  expect(body).toMatchObject({ session: { vitessSession: { autocommit: true } } });
});

test("a reply says how long it took, in seconds", async () => {
  const { time } = await client(await place.start()).execute("SELECT SLEEP(0.2)");
  expect(time).toBeGreaterThanOrEqual(195);
  expect(time).toBeLessThan(15_000);
});

test.each([
  ["another password", { Authorization: `Basic ${btoa(`${USER}:wrong`)}` }],
  ["another user", { Authorization: `Basic ${btoa(`root:${PASSWORD}`)}` }],
  ["another scheme", { Authorization: "Bearer x" }],
  ["nothing", { Authorization: "" }],
])("%s is refused with 401, before the body is read", async (_name, headers) => {
  const gateway = await place.start({ limits: { maxBodyBytes: 10 } });
  const { status, body } = await send(gateway, { headers: headers as Record<string, string> });
  expect(status).toBe(401);
  expect(body.error?.code).toBe("unauthenticated");
  expect(gateway.stats).toMatchObject({ roundTrips: 0, openConnections: 0 });
});

test("the driver sees wrong credentials as an error of status 401", async () => {
  const gateway = await place.start();
  const error = await refusal(connect({ url: gateway.url.replace(PASSWORD, "wrong") }).execute("SELECT 1"));
  expect(error.status).toBe(401);
  expect(error.body.code).toBe("unauthenticated");
});

test.each<[string, Changed, number, string]>([
  ["no JSON", { body: "{" }, 400, "invalid_argument"],
  ["nothing", { body: "" }, 400, "invalid_argument"],
  ["bytes that are no UTF-8", { body: Uint8Array.of(34, 255, 34) }, 400, "invalid_argument"],
  ["JSON that is no object", { body: "[]" }, 400, "invalid_argument"],
  ["no query", { body: '{"session":null}' }, 400, "invalid_argument"],
  ["a query that is no text", { body: '{"query":1}' }, 400, "invalid_argument"],
  ["a lone surrogate", { body: '{"query":"SELECT \'\\ud800\'"}' }, 400, "invalid_argument"],
  ["a session of others", { body: '{"query":"SELECT 1","session":"x"}' }, 400, "invalid_argument"],
  [
    "a session with a huge key",
    {
      body: JSON.stringify({
        query: "SELECT 1",
        session: { vitessSession: { autocommit: true, SessionUUID: "x", transaction: "x".repeat(65) } },
      }),
    },
    400,
    "invalid_argument",
  ],
  ["another type", { headers: { "Content-Type": "text/plain" } }, 415, "invalid_argument"],
  [
    "a type that only begins like it",
    { headers: { "Content-Type": "application/jsonx" } },
    415,
    "invalid_argument",
  ],
  ["another path", { path: "/psdb.v1alpha1.Database/StreamExecute" }, 404, "not_found"],
  ["a path behind", { path: `${EXECUTE}/` }, 404, "not_found"],
  ["GET", { method: "GET" }, 405, "unimplemented"],
])("%s is refused", async (_name, changed, status, code) => {
  const gateway = await place.start();
  const reply = await send(gateway, changed);
  expect([reply.status, reply.body.error?.code]).toEqual([status, code]);
  expect(reply.body.error?.message).toBeTruthy();
  expect(gateway.stats).toMatchObject({ roundTrips: 0, statements: 0 });
  expect((await send(gateway, {})).status).toBe(200);
});

test("unknown names in a request are no matter, and neither is a character set", async () => {
  const gateway = await place.start();
  const headers = { "Content-Type": "application/json; charset=utf-8" };
  expect((await send(gateway, { headers, body: '{"query":"SELECT 1","more":1}' })).status).toBe(200);
});

test("a body is bounded in bytes as they come, announced or not", async () => {
  const body = JSON.stringify({ query: "SELECT 'é'" });
  const bytes = Buffer.byteLength(body);
  expect(bytes).toBeGreaterThan(body.length);
  const fits = await place.start({ limits: { maxBodyBytes: bytes } });
  expect((await send(fits, { body })).status).toBe(200);
  const tight = await place.start({ limits: { maxBodyBytes: bytes - 1 } });
  const announced = await send(tight, { body });
  expect([announced.status, announced.body.error?.code]).toEqual([413, "resource_exhausted"]);
  const stream = new ReadableStream({
    start: (controller) => {
      controller.enqueue(Buffer.from(body.slice(0, 5)));
      controller.enqueue(Buffer.from(body.slice(5)));
      controller.close();
    },
  });
  const chunked = await fetch(`http://127.0.0.1:${tight.port}${EXECUTE}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: BASIC },
    body: stream,
    duplex: "half",
  } as RequestInit);
  expect(chunked.status).toBe(413);
  await chunked.text();
});

test("a client that goes in the middle of its body is forgotten", async () => {
  const defects: unknown[] = [];
  const gateway = await place.start({ onDefect: (error) => defects.push(error) });
  const socket = connectSocket(gateway.port, "127.0.0.1");
  await once(socket, "connect");
  const head = [
    `POST ${EXECUTE} HTTP/1.1`,
    "Host: x",
    "Content-Type: application/json",
    `Authorization: ${BASIC}`,
    "Content-Length: 1000",
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n{"query":`);
  socket.resetAndDestroy();
  await once(socket, "close");
  expect((await send(gateway, {})).status).toBe(200);
  expect(defects).toEqual([]);
});

test("only loopback is listened on", async () => {
  const gateway = await place.start();
  expect(gateway.host).toBe("127.0.0.1");
  const elsewhere = connectSocket(gateway.port, "127.0.0.2");
  const [error] = await once(elsewhere, "error");
  expect((error as NodeJS.ErrnoException).code).toBe("ECONNREFUSED");
});

test("a port that is taken is an error", async () => {
  const { port } = await place.start();
  await expect(place.start({ port })).rejects.toMatchObject({ code: "EADDRINUSE" });
});

test.each([
  ["a user that a URL would change", { user: "a:b" }, "user must be"],
  ["an empty password", { password: "" }, "password must be"],
  ["another DSN", { dsn: "http://x" }, "a DSN looks like"],
  ["shards beside a DSN", { shards: ["mysql://a@h/d"], route: () => 0 }, "either dsn, or shards"],
  ["a limit of nothing", { limits: { statementMs: 0 } }, "limit statementMs"],
])("%s is refused at the start", async (_name, options, reason) => {
  await expect(place.start(options)).rejects.toThrow(reason);
});

test("shards without a way to them are refused at the start", async () => {
  const start = startGateway({ shards: ["mysql://a@h/d"], user: USER, password: PASSWORD });
  await expect(start).rejects.toThrow("either dsn, or shards");
});
