import { type AddressInfo, createServer, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { Connection, parseReply, requestHead } from "../../../bench/load/connection.ts";
import {
  BODY_BYTES,
  countOf,
  idOf,
  MessageSource,
  Seen,
  scanDeliveries,
} from "../../../bench/load/messages.ts";

describe("the messages of the load", () => {
  test("are valid, of the size that is said, and never the same twice", () => {
    const source = new MessageSource(3);
    const batches = [source.batch(4), source.batch(1)].map(
      (text) =>
        (JSON.parse(text) as { messages: { id: string; partitionKey: string; body: unknown }[] }).messages,
    );
    const all = batches.flat();
    expect(all.map(({ id }) => id)).toEqual([0, 1, 2, 3, 4].map(idOf));
    expect(all.map(({ partitionKey }) => partitionKey)).toEqual(["p-0", "p-1", "p-2", "p-0", "p-1"]);
    for (const { body } of all) expect(JSON.stringify(body)).toHaveLength(BODY_BYTES);
    expect(source.made).toBe(5);
  });
});

describe("scanDeliveries", () => {
  const delivery = (receipt: string, number: number) => ({ receipt, id: idOf(number), body: { id: 1 } });
  const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));

  test("finds receipts and numbers in order", () => {
    const reply = bytes({ deliveries: [delivery("1.a.b", 12), delivery("1.c.d", 7)], partitions: ["p-1"] });
    expect(scanDeliveries(reply)).toEqual({ receipts: ["1.a.b", "1.c.d"], numbers: [12, 7] });
  });

  test("finds nothing in an empty reply", () => {
    expect(scanDeliveries(bytes({ deliveries: [], partitions: [] }))).toEqual({ receipts: [], numbers: [] });
  });

  test("refuses a message that is not of this run", () => {
    expect(() => scanDeliveries(bytes({ deliveries: [{ receipt: "r", id: "other" }] }))).toThrow(
      "without an ID",
    );
    expect(() => scanDeliveries(bytes({ deliveries: [{ receipt: "r" }] }))).toThrow("without an ID");
  });
});

test("countOf counts what stands side by side", () => {
  expect(countOf(Buffer.from("ababxab"), "ab")).toBe(3);
  expect(countOf(Buffer.from(""), "ab")).toBe(0);
});

test("Seen tells a message that came again", () => {
  const seen = new Seen();
  seen.add([0, 200_000, 0]);
  seen.add([1]);
  expect([seen.count, seen.again]).toEqual([3, 1]);
});

describe("parseReply", () => {
  const parse = (text: string) => parseReply(Buffer.from(text, "latin1"));
  const body = (text: string) => {
    const reply = parse(text);
    return "body" in reply ? [reply.status, reply.body.toString("latin1")] : reply;
  };

  test("reads a body by its length", () => {
    expect(body("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc")).toEqual([200, "abc"]);
    expect(body("HTTP/1.1 404 Not Found\r\ncontent-length:0\r\n\r\n")).toEqual([404, ""]);
  });

  test("reads a body in chunks", () => {
    expect(
      body("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n"),
    ).toEqual([200, "abc0123456789"]);
  });

  test("reads a reply without a body", () => {
    expect(body("HTTP/1.1 204 No Content\r\n\r\n")).toEqual([204, ""]);
  });

  test("asks for more until the reply is whole, wherever it is cut", () => {
    for (const text of [
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    ]) {
      for (let cut = 0; cut < text.length; cut++) {
        const part = parse(text.slice(0, cut));
        expect(part).toHaveProperty("neededBytes");
        expect("neededBytes" in part && part.neededBytes).toBeGreaterThan(cut);
      }
    }
  });

  test.each([
    "SMTP 200 OK\r\n\r\n",
    "HTTP/1.1 2 OK\r\n\r\n",
    "HTTP/1.1 200 OK\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
  ])("refuses %j", (text) => {
    expect(() => parse(text)).toThrow();
  });
});

describe("a connection", () => {
  /** Answers `serve` to each request; what it returns is ended when the test is done. */
  async function setup(serve: (socket: Socket, request: number) => void) {
    let requests = 0;
    const server = createServer((socket) => {
      socket.on("data", () => serve(socket, ++requests));
      socket.on("error", () => {});
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const connection = await Connection.open(url);
    onTestFinished(() => connection.close());
    return { connection, head: requestHead("POST", url, "/", null) };
  }
  const answer = (socket: Socket, body: string) =>
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);

  test("is opened again when the server closed it between two requests", async () => {
    const closed = Promise.withResolvers<void>();
    const { connection, head } = await setup((socket, request) => {
      answer(socket, `reply ${request}`);
      if (request === 1) socket.end();
      socket.on("close", () => closed.resolve());
    });
    expect((await connection.request(head, "x")).body.toString()).toBe("reply 1");
    await closed.promise;
    expect((await connection.request(head, "x")).body.toString()).toBe("reply 2");
  });

  test("fails the request that the server closes it on", async () => {
    const { connection, head } = await setup((socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Le"));
    await expect(connection.request(head, "x")).rejects.toThrow("closed the connection");
  });

  test("carries one request at a time", async () => {
    const { connection, head } = await setup((socket) => answer(socket, ""));
    const first = connection.request(head, "x");
    await expect(connection.request(head, "x")).rejects.toThrow("one request at a time");
    await first;
  });
});
