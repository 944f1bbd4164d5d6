import { type Connection, createConnection } from "mysql2/promise";
import { formatSql } from "../../src/log/vitess/sql-text.ts";
import { vitessStatements } from "../../src/log/vitess/statements.ts";

/** Of one message; the log's own statement, so that it gets its offset as every publish does. */
const APPEND = vitessStatements().find(({ name }) => name === "append");

export interface DirectMessage {
  tenant: string;
  topic: string;
  id: string;
  partitionKey: string;
}

function publishSql({ tenant, topic, id, partitionKey }: DirectMessage): string {
  if (!APPEND) throw new Error("the log has no statement named append");
  const body = JSON.stringify(id);
  return formatSql(APPEND.sql, [tenant, topic, partitionKey, id, null, "", body.length, body]);
}

/** Publishes past the Worker: nobody tells the tenant object. */
export async function publishUnheard(dsn: string, message: DirectMessage): Promise<void> {
  const connection = await createConnection(dsn);
  try {
    await connection.query(publishSql(message));
  } finally {
    connection.destroy();
  }
}

/** A publish that has its offset already and is not committed yet. */
export interface OpenPublish {
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

export async function openPublish(dsn: string, message: DirectMessage): Promise<OpenPublish> {
  const connection = await createConnection(dsn);
  await connection.query("SET time_zone = '+00:00'");
  await connection.beginTransaction();
  await connection.query(publishSql(message));
  return { commit: () => end(connection, "commit"), rollback: () => end(connection, "rollback") };
}

async function end(connection: Connection, how: "commit" | "rollback"): Promise<void> {
  try {
    await connection[how]();
  } finally {
    connection.destroy();
  }
}
