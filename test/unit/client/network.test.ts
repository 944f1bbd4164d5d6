import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { Fairlane } from "../../../src/client/fairlane.ts";
import { outcomeOf } from "./wire.ts";

// What the platform's own fetch does when a connection fails, on a real one.

let close: () => Promise<unknown> = async () => {};
afterEach(() => close());

async function serve(answer: (request: IncomingMessage, response: ServerResponse, count: number) => void) {
  let count = 0;
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => answer(request, response, ++count));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  close = () => {
    server.closeAllConnections();
    return new Promise((closed) => server.close(closed));
  };
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    client: new Fairlane({ url, tenant: "demo", token: "a.b.c", retryForMs: 0 }),
    count: () => count,
  };
}

const reply = JSON.stringify({ topics: ["a"] });

describe("a connection that", () => {
  test("nobody accepts is told as such, and the request was not carried out", async () => {
    const { client, url } = await serve(() => {});
    await close();
    close = async () => {};
    expect(await outcomeOf(client.admin.listTopics())).toMatchObject({
      error: {
        name: "FairlaneNetworkError",
        message: `no connection to ${url} (ECONNREFUSED)`,
        outcomeUnknown: false,
      },
    });
  });

  test("ends in the middle of the body fails, whatever was announced", async () => {
    for (const headers of [{ "content-length": reply.length }, {}] as Record<string, number>[]) {
      const { client } = await serve((_, response) => {
        response.writeHead(200, headers);
        response.write(reply.slice(0, 8), () => response.destroy());
      });
      expect(await outcomeOf(client.admin.listTopics())).toMatchObject({
        error: { name: "FairlaneNetworkError", outcomeUnknown: true },
      });
      await close();
    }
  });

  test("ends without an answer fails, and a publish on it is stored once by its retry", async () => {
    const { url, count } = await serve((_, response, nth) => {
      if (nth === 1) response.destroy();
      else response.end(JSON.stringify({ messages: [{ id: "m", partitionKey: "p", duplicate: true }] }));
    });
    const client = new Fairlane({ url, tenant: "demo" });
    expect(await client.publish("t", { id: "m", partitionKey: "p", body: 1 })).toMatchObject({
      duplicate: true,
    });
    expect(count()).toBe(2);
  });

  test("stands still is given up at the deadline", async () => {
    const { url } = await serve((_, response) => {
      response.write(reply.slice(0, 8));
    });
    const client = new Fairlane({ url, tenant: "demo", retryForMs: 0, requestTimeoutMs: 200 });
    expect(await outcomeOf(client.admin.listTopics())).toMatchObject({
      error: { name: "FairlaneNetworkError", message: `no answer from ${url} within 200 ms` },
    });
  });

  test("is called off while it waits is closed", async () => {
    let closed: () => void = () => {};
    const isClosed = new Promise<void>((resolve) => {
      closed = resolve;
    });
    let asked: () => void = () => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const { client } = await serve((_, response) => {
      response.on("close", closed);
      asked();
    });
    const stop = new AbortController();
    const work = outcomeOf(
      client.receive("t", "g", { subscriber: "s", waitMs: 20_000 }, { signal: stop.signal }),
    );
    await isAsked;
    stop.abort(new Error("enough"));
    expect(await work).toMatchObject({ error: { message: "enough" } });
    await isClosed;
  });

  test("redirects is not followed: the token stays here", async () => {
    const { client, url, count } = await serve((_, response) => {
      response.writeHead(302, { location: `${url}/elsewhere` }).end();
    });
    expect(await outcomeOf(client.admin.listTopics())).toMatchObject({
      error: { code: "unexpected-reply", status: 302 },
    });
    expect(count()).toBe(1);
  });
});
