import { type Connection, createConnection, type QueryError } from "mysql2";
import type { Dsn } from "./dsn.ts";
import { fieldType } from "./field-type.ts";
import type { MysqlFailure } from "./wire-error.ts";

/** PlanetScale's default. */
const SQL_MODE =
  "STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";
/** PlanetScale counts changed rows, not found ones. The others change what SQL means, or let a server read files here. */
const FLAGS = ["-FOUND_ROWS", "-IGNORE_SPACE", "-ODBC", "-LOCAL_FILES"];
const STATUS_IN_TRANSACTION = 1;
/** Of the client, when the connection breaks under a statement; when none can be made. */
const ERRNO_SERVER_LOST = 2013;
const ERRNO_CONNECTION = 2002;
const ERRNO_PACKET_TOO_LARGE = 1153;
/** Command byte before the SQL. */
const PACKET_OVERHEAD_BYTES = 1;

export interface WireField {
  name: string;
  /** Absent for NULL_TYPE, as JSON of a protocol buffer leaves out its zero. */
  type?: string;
  table: string;
  orgTable: string;
  database: string;
  orgName: string;
  columnLength: number;
  charset: number;
  flags: number;
}

export interface WireRow {
  /** Of each value in bytes, as text; "-1" for NULL. */
  lengths: string[];
  /** Base64 of all values one after the other. */
  values: string;
}

export interface WireResult {
  /** Changed rows; absent for 0. */
  rowsAffected?: string;
  /** Unsigned; absent for 0. */
  insertId?: string;
  fields?: WireField[];
  rows?: WireRow[];
}

export type StatementOutcome =
  /** `inTransaction` as the server says it; null after a statement with a result, which does not say. */
  | { kind: "done"; result: WireResult; inTransaction: boolean | null }
  | { kind: "failed"; failure: MysqlFailure }
  /** It was run; whoever asked gets nothing of it. */
  | { kind: "too-many-rows" }
  | { kind: "too-many-bytes"; bytes: number };

export interface ResultBounds {
  maxResultRows: number;
  maxResultBytes: number;
}

/** One connection to the database, set up as PlanetScale's are. Runs one statement at a time. */
export class MysqlConnection {
  /** Broken, killed or closed: not to be used again. */
  spoiled = false;
  readonly #connection: Connection;
  #maxPacketBytes = Number.POSITIVE_INFINITY;
  /** Ends the statement under way when the connection breaks. */
  #onLost: ((error: Error) => void) | null = null;

  /** Rejects with `ConnectError`. */
  static async open(dsn: Dsn, connectMs: number): Promise<MysqlConnection> {
    const raw = createConnection({
      host: dsn.host,
      port: dsn.port,
      user: dsn.user,
      password: dsn.password,
      database: dsn.database,
      charset: "utf8mb4_general_ci",
      connectTimeout: connectMs,
      flags: FLAGS,
      // The text is run as it came: there are no placeholders to look for, in megabytes.
      queryFormat: (sql: string) => sql,
      supportBigNumbers: true,
      bigNumberStrings: true,
    });
    const connection = new MysqlConnection(raw);
    await new Promise<void>((resolve, reject) => {
      connection.#onLost = (error) => {
        connection.destroy();
        reject(new ConnectError(failureOf(error, ERRNO_CONNECTION)));
      };
      raw.once("connect", () => {
        connection.#onLost = null;
        resolve();
      });
    });
    await connection.#setUp(connectMs);
    return connection;
  }

  private constructor(connection: Connection) {
    this.#connection = connection;
    connection.on("error", (error: Error) => this.#lost(error));
    connection.on("end", () => this.#lost(new Error("the server closed the connection")));
  }

  /** The server's number for it. */
  get threadId(): number {
    return this.#connection.threadId;
  }

  /** Never rejects. */
  run(sql: string, bounds: ResultBounds): Promise<StatementOutcome> {
    if (this.spoiled) return Promise.resolve(lost(new Error("the connection is closed")));
    // The server would close the connection in the middle, and nobody could tell whether the statement was run.
    if (Buffer.byteLength(sql) + PACKET_OVERHEAD_BYTES > this.#maxPacketBytes) {
      const message = "Got a packet bigger than 'max_allowed_packet' bytes";
      const failure = { errno: ERRNO_PACKET_TOO_LARGE, sqlState: "08S01", message };
      return Promise.resolve({ kind: "failed", failure });
    }
    return new Promise((resolve) => {
      const collector = new ResultCollector(bounds);
      const settle = (outcome: StatementOutcome) => {
        this.#onLost = null;
        resolve(outcome);
      };
      this.#onLost = (error) => settle(lost(error));
      // Without a callback rows are handed over one by one and kept nowhere else.
      const query = this.#connection.query({ sql, rowsAsArray: true, typeCast: false });
      query.on("fields", (fields: ColumnDefinition[] | undefined) => {
        if (fields) collector.fields(fields);
      });
      query.on("result", (row: (Buffer | null)[] | OkHeader) => {
        if (Array.isArray(row)) collector.row(row);
        else collector.ok(row);
      });
      query.on("error", (error: QueryError) => {
        if (error.fatal) this.spoiled = true;
        settle({ kind: "failed", failure: failureOf(error, ERRNO_SERVER_LOST) });
      });
      query.on("end", () => settle(collector.outcome()));
    });
  }

  /** Ends it at once. A statement under way fails; the server may go on with it. */
  destroy(): void {
    this.spoiled = true;
    destroy(this.#connection);
    this.#lost(new Error("the connection was closed"));
  }

  async #setUp(connectMs: number): Promise<void> {
    const timer = setTimeout(() => this.destroy(), connectMs);
    const bounds = { maxResultRows: 1, maxResultBytes: 1024 };
    try {
      const set = await this.run(
        `SET time_zone = '+00:00', sql_mode = '${SQL_MODE}', autocommit = 1`,
        bounds,
      );
      const read = await this.run("SELECT @@max_allowed_packet", bounds);
      for (const outcome of [set, read]) {
        if (outcome.kind === "failed") throw new ConnectError(outcome.failure);
      }
      const value = read.kind === "done" ? read.result.rows?.[0]?.values : undefined;
      this.#maxPacketBytes = Number(Buffer.from(value ?? "", "base64").toString());
    } catch (error) {
      this.destroy();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  #lost(error: Error): void {
    this.spoiled = true;
    const onLost = this.#onLost;
    this.#onLost = null;
    onLost?.(error);
  }
}

/** No connection could be made; the statement was not run. */
export class ConnectError extends Error {
  override name = "ConnectError";
  readonly failure: MysqlFailure;

  constructor(failure: MysqlFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

interface ColumnDefinition {
  name: string;
  table: string;
  orgTable: string;
  schema: string;
  orgName: string;
  columnLength: number;
  columnType: number;
  characterSet: number;
  flags: number;
  extendedFormat?: string;
}

interface OkHeader {
  affectedRows: number | string;
  insertId: number | string;
  serverStatus: number;
}

/** Encodes a result as it comes. Past a bound it counts on, and keeps nothing. */
class ResultCollector {
  readonly #bounds: ResultBounds;
  readonly #result: WireResult = {};
  readonly #rows: WireRow[] = [];
  #rowCount = 0;
  #bytes = 0;
  #inTransaction: boolean | null = null;

  constructor(bounds: ResultBounds) {
    this.#bounds = bounds;
  }

  fields(fields: readonly ColumnDefinition[]): void {
    this.#result.fields = fields.map(wireField);
    this.#result.rows = this.#rows;
  }

  row(values: readonly (Buffer | null)[]): void {
    this.#rowCount++;
    for (const value of values) this.#bytes += value?.length ?? 0;
    if (this.#rowCount > this.#bounds.maxResultRows || this.#bytes > this.#bounds.maxResultBytes) {
      this.#rows.length = 0;
      return;
    }
    const present = values.filter((value) => value !== null);
    this.#rows.push({
      lengths: values.map((value) => (value === null ? "-1" : String(value.length))),
      values: Buffer.concat(present).toString("base64"),
    });
  }

  ok(header: OkHeader): void {
    if (String(header.affectedRows) !== "0") this.#result.rowsAffected = String(header.affectedRows);
    // The library reads it as signed.
    const insertId = BigInt.asUintN(64, BigInt(header.insertId));
    if (insertId !== 0n) this.#result.insertId = String(insertId);
    this.#inTransaction = (header.serverStatus & STATUS_IN_TRANSACTION) !== 0;
  }

  outcome(): StatementOutcome {
    if (this.#rowCount > this.#bounds.maxResultRows) return { kind: "too-many-rows" };
    if (this.#bytes > this.#bounds.maxResultBytes) return { kind: "too-many-bytes", bytes: this.#bytes };
    return { kind: "done", result: this.#result, inTransaction: this.#inTransaction };
  }
}

function wireField(column: ColumnDefinition): WireField {
  const { columnType, flags, characterSet: charset } = column;
  const type = fieldType({ columnType, flags, charset, isJson: column.extendedFormat === "json" });
  return {
    name: column.name,
    ...(type === "NULL_TYPE" ? {} : { type }),
    table: column.table,
    orgTable: column.orgTable,
    database: column.schema,
    orgName: column.orgName,
    columnLength: column.columnLength,
    charset,
    flags,
  };
}

function lost(error: Error): StatementOutcome {
  return { kind: "failed", failure: failureOf(error, ERRNO_SERVER_LOST) };
}

/** The server's errors have a SQL state; the system's, of the same class, have not. */
function failureOf(error: Error & Partial<QueryError>, lostErrno: number): MysqlFailure {
  const { errno, sqlState } = error;
  if (typeof errno === "number" && errno > 0 && sqlState) return { errno, sqlState, message: error.message };
  const what =
    lostErrno === ERRNO_CONNECTION ? "Can't connect to MySQL server" : "Lost connection to MySQL server";
  return { errno: lostErrno, sqlState: "HY000", message: `${what}: ${error.code ?? error.message}` };
}

/** `destroy` of the library waits for the server to close its side. */
function destroy(connection: Connection): void {
  connection.destroy();
  (connection as unknown as { stream: { destroy(): void } }).stream.destroy();
}
