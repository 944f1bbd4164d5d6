import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Live } from "./harness.ts";

export interface WorldRequest {
  method: string;
  /** Decoded. */
  path: string;
  /** The header `idempotency-key`. */
  key: string | undefined;
  json: unknown;
  /** Aborts when the caller is gone. */
  signal: AbortSignal;
}

export interface WorldReply {
  status?: number;
  json: unknown;
}

/** Answers a request; one that never resolves is a service that hangs. */
export type WorldAnswer = (request: WorldRequest) => WorldReply | Promise<WorldReply>;

/** A service outside the queue, which a test plays for an example. */
export class ExampleWorld {
  readonly url: string;
  readonly #server: Server;

  static async start(answer: WorldAnswer): Promise<ExampleWorld> {
    const server = createServer((request, response) => {
      exchange(request, response, answer).catch((error) => response.destroy(error));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new ExampleWorld(server);
  }

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

/**
 * Stands between a program and the queue and passes everything on. `onDone` is called when the queue has done what it
 * was asked, and before the program hears of it.
 */
export function startWire(
  live: Live,
  onDone: (request: WorldRequest) => void | Promise<void>,
): Promise<ExampleWorld> {
  return ExampleWorld.start(async (request) => {
    const { method, path, json, signal } = request;
    const headers = { authorization: `Bearer ${live.token}` };
    const reply = await live.open(method, path, { headers, signal, ...(json === undefined ? {} : { json }) });
    await onDone(request);
    return { status: reply.status, json: reply.json };
  });
}

async function exchange(
  request: IncomingMessage,
  response: ServerResponse,
  answer: WorldAnswer,
): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  const reply = await answer({
    method: request.method ?? "",
    path: decodeURIComponent(request.url ?? ""),
    key: request.headers["idempotency-key"] as string | undefined,
    json: text === "" ? undefined : JSON.parse(text),
    signal: gone.signal,
  });
  response.writeHead(reply.status ?? 200, { "content-type": "application/json" });
  response.end(JSON.stringify(reply.json));
}
