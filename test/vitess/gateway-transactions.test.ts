import { describe, expect, test } from "vitest";
import { client, gatewayPlace, refusal, until } from "./gateway-place.ts";

const place = gatewayPlace();

async function setup() {
  const gateway = await place.start();
  const table = await place.makeTable("id INT PRIMARY KEY, v INT NOT NULL DEFAULT 0");
  await place.runSql(`INSERT INTO ${table} (id) VALUES (1), (2)`);
  const ids = async () => (await place.runSql(`SELECT id FROM ${table} ORDER BY id`)).map((row) => row.id);
  return { gateway, table, ids };
}

test("what a transaction did is seen by others at its commit", async () => {
  const { gateway, table, ids } = await setup();
  await client(gateway).transaction(async (tx) => {
    await tx.execute(`INSERT INTO ${table} (id) VALUES (3)`);
    await tx.execute(`DELETE FROM ${table} WHERE id = 1`);
    expect((await tx.execute(`SELECT id FROM ${table}`)).size).toBe(2);
    expect(await ids()).toEqual([1, 2]);
    expect(gateway.stats).toMatchObject({ openSessions: 1, busyConnections: 1 });
  });
  expect(await ids()).toEqual([2, 3]);
  expect(gateway.stats).toMatchObject({ openSessions: 0, busyConnections: 0 });
});

test("nothing is left of one that is rolled back", async () => {
  const { gateway, table, ids } = await setup();
  const failing = client(gateway).transaction(async (tx) => {
    await tx.execute(`INSERT INTO ${table} (id) VALUES (3)`);
    await tx.execute(`INSERT INTO ${table} (id) VALUES (1)`);
  });
  expect((await refusal(failing)).message).toContain("(errno 1062)");
  expect(await ids()).toEqual([1, 2]);
  expect(gateway.stats).toMatchObject({ openSessions: 0, busyConnections: 0 });
});

test("two transactions of two sessions do not see each other", async () => {
  const { gateway, table } = await setup();
  const [first, second] = [client(gateway), client(gateway)];
  for (const session of [first, second]) await session.execute("BEGIN");
  await first.execute(`INSERT INTO ${table} (id) VALUES (3)`);
  expect((await second.execute(`SELECT id FROM ${table}`)).size).toBe(2);
  await first.execute("COMMIT");
  expect((await second.execute(`SELECT id FROM ${table}`)).size).toBe(2);
  await second.execute("COMMIT");
  expect((await second.execute(`SELECT id FROM ${table}`)).size).toBe(3);
});

test("an empty transaction never troubles the database", async () => {
  const { gateway } = await setup();
  await client(gateway).transaction(async () => {});
  expect(gateway.stats).toMatchObject({ statements: 0, roundTrips: 2, openConnections: 0 });
});

test("COMMIT and ROLLBACK without a transaction do nothing", async () => {
  const { gateway } = await setup();
  const session = client(gateway);
  await session.execute("COMMIT");
  await session.execute("ROLLBACK");
  expect(gateway.stats.statements).toBe(0);
});

test("BEGIN within a transaction commits it", async () => {
  const { gateway, table, ids } = await setup();
  const session = client(gateway);
  await session.execute("BEGIN");
  await session.execute(`INSERT INTO ${table} (id) VALUES (3)`);
  await session.execute("START TRANSACTION");
  expect(await ids()).toEqual([1, 2, 3]);
  await session.execute(`INSERT INTO ${table} (id) VALUES (4)`);
  await session.execute("ROLLBACK");
  expect(await ids()).toEqual([1, 2, 3]);
});

test("savepoints work within a transaction, and are refused without one", async () => {
  const { gateway, table, ids } = await setup();
  const session = client(gateway);
  expect((await refusal(session.execute("SAVEPOINT a"))).message).toContain("no transaction");
  await session.transaction(async (tx) => {
    await tx.execute(`INSERT INTO ${table} (id) VALUES (3)`);
    await tx.execute("SAVEPOINT a");
    await tx.execute(`INSERT INTO ${table} (id) VALUES (4)`);
    await tx.execute("ROLLBACK TO a");
  });
  expect(await ids()).toEqual([1, 2, 3]);
});

test("a statement that commits by itself ends the transaction", async () => {
  const { gateway, table, ids } = await setup();
  const session = client(gateway);
  await session.execute("BEGIN");
  await session.execute(`INSERT INTO ${table} (id) VALUES (3)`);
  await session.execute(`ALTER TABLE ${table} ADD COLUMN w INT`);
  expect(gateway.stats).toMatchObject({ openSessions: 0, busyConnections: 0 });
  await session.execute(`INSERT INTO ${table} (id) VALUES (4)`);
  await session.execute("ROLLBACK");
  expect(await ids()).toEqual([1, 2, 3, 4]);
});

test("a failed statement leaves its transaction open", async () => {
  const { gateway, table, ids } = await setup();
  const session = client(gateway);
  await session.execute("BEGIN");
  await session.execute(`INSERT INTO ${table} (id) VALUES (3)`);
  await refusal(session.execute(`INSERT INTO ${table} (id) VALUES (3)`));
  await session.execute("COMMIT");
  expect(await ids()).toEqual([1, 2, 3]);
});

describe("locks", () => {
  test("the victim of a deadlock is told so, and its transaction is over", async () => {
    const { gateway, table } = await setup();
    const sessions = [client(gateway), client(gateway)] as const;
    const add = (session: (typeof sessions)[number], id: number) =>
      session.execute(`UPDATE ${table} SET v = v + 1 WHERE id = ${id}`);
    for (const session of sessions) await session.execute("BEGIN");
    await Promise.all([add(sessions[0], 1), add(sessions[1], 2)]);
    const crossed = await Promise.allSettled([add(sessions[0], 2), add(sessions[1], 1)]);
    const victim = crossed.findIndex(({ status }) => status === "rejected") as 0 | 1;
    const { reason } = crossed[victim] as PromiseRejectedResult;
    expect(reason.message).toMatch(
      /code = Aborted desc = Deadlock found .* \(errno 1213\) \(sqlstate 40001\)/,
    );
    const after = await refusal(sessions[victim].execute("SELECT 1"));
    expect(after.message).toMatch(/code = Aborted desc = transaction \d+: ended at .* \(rolled back\)/);
    await sessions[victim].execute("ROLLBACK");
    await sessions[victim].execute("SELECT 1");
    await sessions[1 - victim]?.execute("COMMIT");
    expect(await place.runSql(`SELECT v FROM ${table} ORDER BY id`)).toEqual([{ v: 1 }, { v: 1 }]);
  });

  test("a lock wait ends with the database's error, and the transaction goes on", async () => {
    await place.runSql("SET GLOBAL innodb_lock_wait_timeout = 1");
    const { gateway, table } = await setup();
    const [holder, waiter] = [client(gateway), client(gateway)];
    await holder.execute("BEGIN");
    await holder.execute(`UPDATE ${table} SET v = 1 WHERE id = 1`);
    await waiter.execute("BEGIN");
    await waiter.execute(`UPDATE ${table} SET v = 2 WHERE id = 2`);
    const error = await refusal(waiter.execute(`UPDATE ${table} SET v = 2 WHERE id = 1`));
    expect(error.message).toMatch(/code = DeadlineExceeded desc = Lock wait timeout .* \(errno 1205\)/);
    await waiter.execute("COMMIT");
    await holder.execute("COMMIT");
    await place.runSql("SET GLOBAL innodb_lock_wait_timeout = 50");
    expect(await place.runSql(`SELECT v FROM ${table} ORDER BY id`)).toEqual([{ v: 1 }, { v: 2 }]);
  });
});

describe("a session", () => {
  const post = async (url: string, body: unknown) => {
    const { origin, username, password } = new URL(url);
    const response = await fetch(`${origin}/psdb.v1alpha1.Database/Execute`, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        Authorization: `Basic ${btoa(`${username}:${password}`)}`,
      },
      body: JSON.stringify(body),
    });
    return (await response.json()) as { session: Session; result?: unknown; error?: { message: string } };
  };
  interface Session {
    vitessSession: { transaction?: string; SessionUUID: string };
  }

  test("is made for a client that has none, and stays the same", async () => {
    const { gateway } = await setup();
    const first = await post(gateway.url, { query: "SELECT 1" });
    const second = await post(gateway.url, { query: "SELECT 1", session: first.session });
    expect(second.session).toEqual(first.session);
    expect((await post(gateway.url, { query: "SELECT 1", session: null })).session).not.toEqual(
      first.session,
    );
  });

  test("names its transaction by something that nobody guesses; another key finds nothing", async () => {
    const { gateway } = await setup();
    const { session } = await post(gateway.url, { query: "BEGIN" });
    const key = session.vitessSession.transaction ?? "";
    expect(key).toMatch(/^[\w-]{32}$/);
    const guessed = { vitessSession: { ...session.vitessSession, transaction: "x".repeat(key.length) } };
    for (const query of ["SELECT 1", "COMMIT"]) {
      const reply = await post(gateway.url, { query, session: guessed });
      expect(reply.error?.message).toContain("code = Aborted desc = transaction 0: not found");
    }
    await post(gateway.url, { query: "ROLLBACK", session });
  });

  test("whose commit was lost learns that it was made", async () => {
    const { gateway } = await setup();
    const { session } = await post(gateway.url, { query: "BEGIN" });
    await post(gateway.url, { query: "SELECT 1", session });
    await post(gateway.url, { query: "COMMIT", session });
    const again = await post(gateway.url, { query: "COMMIT", session });
    expect(again.error?.message).toMatch(/transaction \d+: ended at \S+ \S+ UTC \(committed\)/);
  });

  test("runs one statement of its transaction at a time", async () => {
    const { gateway } = await setup();
    const { session } = await post(gateway.url, { query: "BEGIN" });
    const slow = post(gateway.url, { query: "SELECT SLEEP(1)", session });
    await until("the slow statement runs", async () => {
      const running = await place.runSql(
        "SELECT 1 FROM information_schema.processlist WHERE info = 'SELECT SLEEP(1)'",
      );
      return running.length === 1;
    });
    const second = await post(gateway.url, { query: "SELECT 1", session });
    expect(second.error?.message).toContain("in use: for query");
    expect((await slow).error).toBeUndefined();
    expect((await post(gateway.url, { query: "COMMIT", session })).error).toBeUndefined();
  });
});

test("transactions are bounded in number", async () => {
  const gateway = await place.start({ limits: { maxTransactions: 2 } });
  const sessions = [client(gateway), client(gateway), client(gateway)] as const;
  await sessions[0].execute("BEGIN");
  await sessions[1].execute("BEGIN");
  const error = await refusal(sessions[2].execute("BEGIN"));
  expect(error.message).toContain(
    "code = ResourceExhausted desc = transaction pool connection limit exceeded",
  );
  await sessions[0].execute("ROLLBACK");
  await sessions[2].execute("BEGIN");
});
