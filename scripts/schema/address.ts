import { type Dsn, parseDsn } from "../../src/gateway/dsn.ts";

export interface DatabaseAddress extends Dsn {
  /** With TLS, the server's certificate is checked. */
  tls: boolean;
}

/** `mysql://USER:PASS@HOST:PORT/DB`, with `?tls=true` behind it for TLS. Throws `TypeError` whose message holds no secret. */
export function parseAddress(text: string): DatabaseAddress {
  const [plain = "", parameters, ...more] = text.split("?");
  const tls = parameters === "tls=true";
  if (more.length > 0 || (parameters !== undefined && !tls && parameters !== "tls=false")) {
    throw new TypeError("the DSN takes one parameter, ?tls=true");
  }
  return { ...parseDsn(plain), tls };
}

/** For people: no password. */
export function addressText({ user, host, port, database }: DatabaseAddress): string {
  return `${user}@${host}:${port}/${database}`;
}
