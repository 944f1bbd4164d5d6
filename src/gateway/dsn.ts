/** Where a database is. */
export interface Dsn {
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
}

const DEFAULT_PORT = 3306;

/** `mysql://USER:PASS@HOST:PORT/DB`, percent-encoded where needed. Throws `TypeError` whose message holds no secret. */
export function parseDsn(text: string): Dsn {
  const url = URL.parse(text);
  if (url?.protocol !== "mysql:") throw new TypeError("a DSN looks like mysql://USER:PASS@HOST:PORT/DB");
  const database = decode(url.pathname.slice(1), "database");
  if (url.hostname === "") throw new TypeError("the DSN names no host");
  if (url.username === "") throw new TypeError("the DSN names no user");
  if (database === "" || database.includes("/"))
    throw new TypeError("the DSN must end with one database name");
  if (url.search !== "" || url.hash !== "")
    throw new TypeError("the DSN takes no parameters after the database");
  return {
    // An IPv6 address is in brackets in a URL only.
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? DEFAULT_PORT : Number(url.port),
    user: decode(url.username, "user"),
    password: decode(url.password, "password"),
    database,
  };
}

function decode(text: string, part: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new TypeError(`the DSN's ${part} is not percent-encoded correctly`);
  }
}
