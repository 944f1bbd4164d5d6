import { type Connection, createConnection, type ResultSetHeader, type RowDataPacket } from "mysql2/promise";
import { addressText, type DatabaseAddress } from "./address.ts";

const CONNECT_TIMEOUT_MS = 10_000;
/** A CREATE TABLE waits for whoever holds the name; nothing here takes longer by itself. */
const STATEMENT_TIMEOUT_MS = 60_000;

export type Row = Readonly<Record<string, unknown>>;

/** Why the tool cannot go on, as one line that says what to do. Holds no password. */
export class SchemaRefusal extends Error {
  override name = "SchemaRefusal";
}

/** One connection to the server. 64-bit numbers come as text. */
export class SchemaConnection {
  private readonly connection: Connection;

  constructor(connection: Connection) {
    this.connection = connection;
  }

  async rows(sql: string, params: readonly (string | number)[] = []): Promise<Row[]> {
    const [rows] = await this.connection.query<RowDataPacket[]>({
      sql,
      values: [...params],
      timeout: STATEMENT_TIMEOUT_MS,
    });
    return rows;
  }

  /** Returns the insert ID that the reply carries, as text; "0" for none. */
  async run(sql: string, params: readonly (string | number | Buffer)[] = []): Promise<{ insertId: string }> {
    const [result] = await this.connection.query<ResultSetHeader>({
      sql,
      values: [...params],
      timeout: STATEMENT_TIMEOUT_MS,
    });
    return { insertId: String(result.insertId) };
  }

  close(): void {
    this.connection.destroy();
  }
}

/** Rejects with `SchemaRefusal` where the server cannot be reached or does not let us in. */
export async function connect(address: DatabaseAddress): Promise<SchemaConnection> {
  const { tls, ...login } = address;
  try {
    const connection = await createConnection({
      ...login,
      ...(tls ? { ssl: { rejectUnauthorized: true } } : {}),
      connectTimeout: CONNECT_TIMEOUT_MS,
      charset: "utf8mb4",
      supportBigNumbers: true,
      bigNumberStrings: true,
    });
    // A connection that breaks between two statements says so at the next one.
    connection.on("error", () => {});
    return new SchemaConnection(connection);
  } catch (error) {
    throw new SchemaRefusal(connectProblem(error, address));
  }
}

function connectProblem(error: unknown, address: DatabaseAddress): string {
  const { host, port, user, database } = address;
  const server = `${host}:${port}`;
  const code = errorCode(error);
  switch (code) {
    case "ECONNREFUSED":
      return `nothing listens on ${server}: is the server running, and is this its port?`;
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `the host ${host} is not known: check its name`;
    case "ETIMEDOUT":
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return `${server} does not answer: check the address and the firewall`;
    case "ER_ACCESS_DENIED_ERROR":
    case "ER_ACCESS_DENIED_NO_PASSWORD_ERROR":
      return `${server} does not accept the user ${user} with this password: check both`;
    case "ER_BAD_DB_ERROR":
      return `${server} has no database ${database}: create it first`;
    case "ER_DBACCESS_DENIED_ERROR":
      return `the user ${user} may not use the database ${database}: grant it, or create the database`;
    case "HANDSHAKE_NO_SSL_SUPPORT":
      return `${server} has no TLS: leave ?tls=true out, or switch TLS on`;
    default:
      return `${addressText(address)} could not be opened: ${code || "unknown error"}`;
  }
}

/** The driver's name of an error, such as ER_BAD_DB_ERROR; "" for none. */
export function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

/** In a few words, for one line. */
export function errorText(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return [errorCode(error), message.split("\n", 1)[0]].filter(Boolean).join(": ");
}
