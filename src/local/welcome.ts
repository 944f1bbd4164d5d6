import { relative } from "node:path";
import type { LogConfig } from "../log/log-config.ts";

export interface WelcomeFacts {
  version: string;
  url: string;
  tenants: readonly string[];
  dataDir: string;
  log: LogConfig;
  token: string;
  tokenPath: string;
}

/** What a start prints: where things are, and three lines that work when pasted into a shell. */
export function welcome(facts: WelcomeFacts): string {
  const tenant = facts.tenants[0] as string;
  const reply = `${facts.dataDir}/reply.json`;
  const topic = `${facts.url}/v1/tenants/${tenant}/topics/orders`;
  const headers = `-H "authorization: Bearer $(cat ${quoted(facts.tokenPath)})" -H 'content-type: application/json'`;
  // Without a message ID, so that pasting the lines again publishes again.
  const published = `{"messages":[{"partitionKey":"order-1","body":{"total":42}}]}`;
  const toSettlement = `s/.*"receipt":"\\([^"]*\\)".*/{"settlements":[{"receipt":"\\1","action":"ack"}]}/p`;
  return `Fairlane ${facts.version} is ready on ${facts.url}

  tenants   ${facts.tenants.join(", ")}
  data      ${facts.dataDir}
  log       ${logShown(facts.log)}
  token     ${facts.token}
            every tenant and scope; kept in ${shown(facts.tokenPath)}
  page      ${facts.url}/ui asks for the token; npx fairlane ui prints a link that has it

Publish a message, receive it, and acknowledge it by its receipt:

curl -sS ${topic}/messages ${headers} -d '${published}'

curl -sS ${topic}/groups/billing/receive ${headers} -d '{"subscriber":"worker-1"}' | tee ${quoted(reply)}

curl -sS ${topic}/groups/billing/settle ${headers} -d "$(sed -n '${toSettlement}' ${quoted(reply)})"

Ctrl-C stops the server; the data stays.
`;
}

function logShown(log: LogConfig): string {
  return log.kind === "object"
    ? "object: messages are in the data folder"
    : `vitess: messages are at ${log.hostShown}`;
}

/** A path as one word of a POSIX shell, also inside $( ) within double quotes. */
function quoted(path: string): string {
  return /^[A-Za-z0-9_./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}

function shown(path: string): string {
  const short = relative(process.cwd(), path);
  return short.startsWith("..") ? path : short;
}
