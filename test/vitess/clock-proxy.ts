import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

const CLOCK = /utc_timestamp\(6\)/g;
/** What would read the clock past us. */
const OTHER_CLOCKS =
  /\b(?:now|sysdate|current_timestamp|localtime|localtimestamp|unix_timestamp|curtime|curdate|utc_time|utc_date)\b/i;

/**
 * Stands before a gateway and makes the database's clock wrong, as it is after a failover to another machine: what a
 * statement asks the clock for is shifted, and the statement is as it was otherwise.
 */
export interface ClockProxy {
  /** In place of the gateway's. */
  readonly url: string;
  /** Added to the clock from the next statement on, in milliseconds. */
  shiftMs: number;
  /** Statements that read the clock shifted. */
  readonly shifted: number;
  close(): Promise<void>;
}

export async function startClockProxy(gatewayUrl: string): Promise<ClockProxy> {
  const target = new URL(gatewayUrl);
  const server = createServer((incoming, outgoing) => {
    pass(incoming, outgoing).catch(() => outgoing.destroy());
  });
  let shifted = 0;
  const pass = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as { query?: string };
    const { query } = body;
    if (query !== undefined) {
      if (OTHER_CLOCKS.test(withoutLiterals(query))) throw new Error(`another clock is read: ${query}`);
      if (proxy.shiftMs !== 0 && CLOCK.test(query)) shifted += 1;
      CLOCK.lastIndex = 0;
      if (proxy.shiftMs !== 0) {
        body.query = query.replaceAll(
          CLOCK,
          `(utc_timestamp(6) + INTERVAL ${proxy.shiftMs * 1000} MICROSECOND)`,
        );
      }
    }
    const text = Buffer.from(JSON.stringify(body));
    const headers = { ...incoming.headers, "content-length": String(text.length), connection: "close" };
    const onward = request({
      host: target.hostname,
      port: target.port,
      path: incoming.url,
      method: "POST",
      headers,
    });
    onward.end(text);
    const [reply] = (await once(onward, "response")) as [IncomingMessage];
    outgoing.writeHead(reply.statusCode ?? 502, { "content-type": "application/json" });
    for await (const chunk of reply) outgoing.write(chunk);
    outgoing.end();
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(gatewayUrl);
  url.port = String((server.address() as AddressInfo).port);
  const proxy: ClockProxy = {
    url: url.href.replace(/\/$/, ""),
    shiftMs: 0,
    get shifted() {
      return shifted;
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return proxy;
}

function withoutLiterals(sql: string): string {
  return sql.replaceAll(/'(?:[^'\\]|\\.|'')*'/g, "''");
}
