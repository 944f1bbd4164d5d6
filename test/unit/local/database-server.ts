import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** What the database answers to a statement; `hang`: nothing. */
export type Reply = { status?: number; error?: { code: string; message: string } } | "hang";

/** A server on loopback that speaks just enough of the database's HTTP protocol to say yes, no, or nothing. */
export async function databaseServer(reply: (sql: string) => Reply) {
  const statements: string[] = [];
  const logins = new Set<string>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { query } = JSON.parse(Buffer.concat(chunks).toString()) as { query: string };
      statements.push(query);
      logins.add(
        Buffer.from((request.headers.authorization ?? "").replace("Basic ", ""), "base64").toString(),
      );
      const answer = reply(query);
      if (answer === "hang") return;
      const { status = 200, error } = answer;
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(error ? { error } : { session: null, result: { fields: [], rows: [] } }));
    });
  });
  await new Promise<void>((listening) => {
    server.listen(0, "127.0.0.1", listening);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://fairlane:s3cret%20word@127.0.0.1:${port}`,
    statements,
    logins,
    close: async () => {
      server.closeAllConnections();
      await new Promise((closed) => {
        server.close(closed);
      });
    },
  };
}
