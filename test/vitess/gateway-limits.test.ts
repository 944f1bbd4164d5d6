import { describe, expect, test } from "vitest";
import { client, gatewayPlace, refusal, until } from "./gateway-place.ts";

const place = gatewayPlace();

/** How many of the database's connections run this statement. */
async function running(sql: string): Promise<number> {
  const rows = await place.runSql(
    `SELECT 1 FROM information_schema.processlist WHERE info = '${sql.replaceAll("'", "''")}'`,
  );
  return rows.length;
}

describe("a statement at its limit", () => {
  test("is killed, and says so as PlanetScale does", async () => {
    const gateway = await place.start({ limits: { statementMs: 300 } });
    const error = await refusal(client(gateway).execute("SELECT SLEEP(30)"));
    expect(error.message).toMatch(
      /^target: shop\.-\.primary: vttablet: rpc error: code = Canceled desc = \(errno 2013\) due to context deadline exceeded, elapsed time: 0\.\d{3}s, killing query ID \d+ \(CallerID: app\)$/,
    );
    expect(await running("SELECT SLEEP(30)")).toBe(0);
    // Its connection might carry the kill on to the next.
    expect(gateway.stats).toMatchObject({ openConnections: 0, busyConnections: 0 });
    await client(gateway).execute("SELECT 1");
  });

  test("changes nothing", async () => {
    const gateway = await place.start({ limits: { statementMs: 300 } });
    const table = await place.makeTable("id INT");
    await refusal(client(gateway).execute(`INSERT INTO ${table} SELECT SLEEP(20)`));
    expect(await place.runSql(`SELECT * FROM ${table}`)).toEqual([]);
  });

  test("that waits for a lock is killed too", async () => {
    const gateway = await place.start({ limits: { statementMs: 300, transactionMs: 20_000 } });
    const table = await place.makeTable("id INT PRIMARY KEY, v INT");
    await place.runSql(`INSERT INTO ${table} VALUES (1, 0)`);
    const holder = client(gateway);
    await holder.execute("BEGIN");
    await holder.execute(`UPDATE ${table} SET v = 1`);
    const error = await refusal(client(gateway).execute(`UPDATE ${table} SET v = 2`));
    expect(error.message).toContain("context deadline exceeded");
    await holder.execute("COMMIT");
    expect(await place.runSql(`SELECT v FROM ${table}`)).toEqual([{ v: 1 }]);
  });

  test("within a transaction takes that with it", async () => {
    const gateway = await place.start({ limits: { statementMs: 300 } });
    const table = await place.makeTable("id INT");
    const failing = client(gateway).transaction(async (tx) => {
      await tx.execute(`INSERT INTO ${table} VALUES (1)`);
      await tx.execute("SELECT SLEEP(30)");
    });
    expect((await refusal(failing)).message).toContain("context deadline exceeded");
    expect(await place.runSql(`SELECT * FROM ${table}`)).toEqual([]);
    expect(gateway.stats).toMatchObject({ openSessions: 0, busyConnections: 0 });
  });
});

describe("a transaction at its limit", () => {
  const ENDED = /code = Aborted desc = transaction \d+: ended at [\d-]+ [\d:.]+ UTC \(exceeded timeout: 1s\)/;

  test("is rolled back while it is idle; what follows is refused until ROLLBACK", async () => {
    const gateway = await place.start({ limits: { transactionMs: 1000 } });
    const table = await place.makeTable("id INT");
    const session = client(gateway);
    await session.execute("BEGIN");
    await session.execute(`INSERT INTO ${table} VALUES (1)`);
    await until("it is over", () => gateway.stats.openSessions === 0);
    await until("its connection is gone", async () => (await place.connections()) === 0);
    expect((await refusal(session.execute(`INSERT INTO ${table} VALUES (2)`))).message).toMatch(ENDED);
    expect((await refusal(session.execute("COMMIT"))).message).toMatch(ENDED);
    await session.execute("ROLLBACK");
    await session.execute(`INSERT INTO ${table} VALUES (3)`);
    expect(await place.runSql(`SELECT id FROM ${table}`)).toEqual([{ id: 3 }]);
  });

  test("is rolled back while it is busy; its statement ends at the database too", async () => {
    const gateway = await place.start({ limits: { transactionMs: 1000 } });
    const table = await place.makeTable("id INT");
    const session = client(gateway);
    await session.execute("BEGIN");
    await session.execute(`INSERT INTO ${table} VALUES (1)`);
    expect((await refusal(session.execute("SELECT SLEEP(30)"))).message).toMatch(ENDED);
    await until("the statement ended", async () => (await running("SELECT SLEEP(30)")) === 0);
    await until("its connection is gone", () => gateway.stats.openConnections === 0);
    await session.execute("ROLLBACK");
    expect(await place.runSql(`SELECT * FROM ${table}`)).toEqual([]);
  });

  test("is rolled back while it waits for a lock, which it then does not get", async () => {
    const table = await place.makeTable("id INT PRIMARY KEY, v INT");
    await place.runSql(`INSERT INTO ${table} VALUES (1, 0)`);
    const holder = client(await place.start());
    await holder.execute("BEGIN");
    await holder.execute(`UPDATE ${table} SET v = 1`);
    const waiter = client(await place.start({ limits: { transactionMs: 1000 } }));
    await waiter.execute("BEGIN");
    const sql = `UPDATE ${table} SET v = 2`;
    expect((await refusal(waiter.execute(sql))).message).toMatch(ENDED);
    await until("the statement ended", async () => (await running(sql)) === 0);
    await holder.execute("COMMIT");
    expect(await place.runSql(`SELECT v FROM ${table}`)).toEqual([{ v: 1 }]);
  });

  test("holds no lock any more", async () => {
    const gateway = await place.start({ limits: { transactionMs: 1000 } });
    const table = await place.makeTable("id INT PRIMARY KEY, v INT");
    await place.runSql(`INSERT INTO ${table} VALUES (1, 0)`);
    const [holder, waiter] = [client(gateway), client(gateway)];
    await holder.execute("BEGIN");
    await holder.execute(`UPDATE ${table} SET v = 1`);
    await waiter.execute(`UPDATE ${table} SET v = 2`);
    expect(await place.runSql(`SELECT v FROM ${table}`)).toEqual([{ v: 2 }]);
  });

  test("without a statement just ends", async () => {
    const gateway = await place.start({ limits: { transactionMs: 50 } });
    const session = client(gateway);
    await session.execute("BEGIN");
    await until("it is over", () => gateway.stats.openSessions === 0);
    expect((await refusal(session.execute("SELECT 1"))).message).toContain("exceeded timeout: 0.05s");
  });
});

describe("a client that vanishes", () => {
  /** A driver whose requests can be cut. */
  function vanishing(gateway: Parameters<typeof client>[0]) {
    const cut = new AbortController();
    const fetchWith: typeof fetch = (url, init) => fetch(url, { ...init, signal: cut.signal });
    return { session: client(gateway, fetchWith), vanish: () => cut.abort() };
  }

  test("has its statement run to the end, and leaks no connection", async () => {
    const gateway = await place.start();
    const table = await place.makeTable("v INT");
    const { session, vanish } = vanishing(gateway);
    const sql = `INSERT INTO ${table} SELECT SLEEP(1)`;
    const lost = session.execute(sql).catch((error: Error) => error.name);
    await until("the statement runs", async () => (await running(sql)) === 1);
    vanish();
    expect(await lost).toBe("AbortError");
    await until("its connection is free", () => gateway.stats.busyConnections === 0);
    expect(gateway.stats.openConnections).toBe(1);
    expect(await place.runSql(`SELECT * FROM ${table}`)).toEqual([{ v: 0 }]);
  });

  test("has its transaction ended by the limit", async () => {
    const gateway = await place.start({ limits: { transactionMs: 1000 } });
    const table = await place.makeTable("v INT");
    const { session, vanish } = vanishing(gateway);
    await session.execute("BEGIN");
    await session.execute(`INSERT INTO ${table} VALUES (1)`);
    const lost = session.execute("SELECT SLEEP(30)").catch((error: Error) => error.name);
    await until("the statement runs", async () => (await running("SELECT SLEEP(30)")) === 1);
    vanish();
    expect(await lost).toBe("AbortError");
    await until("nothing is left", async () => (await place.connections()) === 0);
    expect(gateway.stats).toMatchObject({ openSessions: 0, openConnections: 0 });
    expect(await place.runSql(`SELECT * FROM ${table}`)).toEqual([]);
  });
});

describe("a result", () => {
  test("of as many rows as allowed is given, of one more is refused", async () => {
    const gateway = await place.start({ limits: { maxResultRows: 100 } });
    const session = client(gateway);
    expect((await session.execute("SELECT seq FROM seq_1_to_100")).size).toBe(100);
    const error = await refusal(session.execute("SELECT seq FROM seq_1_to_101"));
    expect(error.message).toBe(
      "target: shop.-.primary: vttablet: rpc error: code = Aborted desc = Row count exceeded 100 (CallerID: app)",
    );
    expect(gateway.stats).toMatchObject({ openConnections: 1, busyConnections: 0 });
  });

  test("of PlanetScale's 100,000 rows is given whole", async () => {
    const session = client(await place.start());
    expect((await session.execute("SELECT seq FROM seq_1_to_100000")).size).toBe(100_000);
    expect((await refusal(session.execute("SELECT seq FROM seq_1_to_100001"))).message).toContain("100000");
  });

  test("with too many bytes is refused", async () => {
    const gateway = await place.start({ limits: { maxResultBytes: 1000 } });
    const session = client(gateway);
    expect((await session.execute("SELECT REPEAT('x', 1000) AS v")).size).toBe(1);
    const error = await refusal(session.execute("SELECT REPEAT('x', 500) FROM seq_1_to_3"));
    expect(error.message).toContain("trying to send message larger than max (1500 vs. 1000)");
  });
});

test("SQL over the database's packet limit is refused before it is sent", async () => {
  await place.runSql("SET GLOBAL max_allowed_packet = 1048576");
  const gateway = await place.start();
  const session = client(gateway);
  const fitting = 1048576 - 1;
  const head = "SELECT LENGTH('') AS n";
  const sql = (bytes: number) => head.replace("''", `'${"é".repeat((bytes - head.length) / 2)}'`);
  expect((await session.execute(sql(fitting - 1))).size).toBe(1);
  const error = await refusal(session.execute(sql(fitting + 1)));
  await place.runSql("SET GLOBAL max_allowed_packet = 67108864");
  expect(error.message).toContain("code = ResourceExhausted desc = Got a packet bigger than");
  expect(error.message).toContain("(errno 1153)");
  expect(gateway.stats.openConnections).toBe(1);
});

describe("connections", () => {
  test("are bounded; what waits gets the next free one", async () => {
    const gateway = await place.start({ limits: { maxConnections: 2 } });
    const all = Array.from({ length: 12 }, () => client(gateway).execute("SELECT SLEEP(0.02)"));
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, gateway.stats.openConnections);
    }, 1);
    await Promise.all(all);
    clearInterval(watch);
    expect(most).toBe(2);
    expect(gateway.stats).toMatchObject({ openConnections: 2, busyConnections: 0 });
  });

  test("that do not become free in time are an error, and so is a long queue", async () => {
    const gateway = await place.start({ limits: { maxConnections: 1, maxWaiting: 1, waitMs: 200 } });
    const slow = client(gateway).execute("SELECT SLEEP(1)");
    await until("the slow one runs", async () => (await running("SELECT SLEEP(1)")) === 1);
    const waiting = refusal(client(gateway).execute("SELECT 1"));
    await until("both arrived", () => gateway.stats.roundTrips === 2);
    const tooMany = await refusal(client(gateway).execute("SELECT 1"));
    expect(tooMany.message).toContain("code = ResourceExhausted");
    expect(tooMany.message).toContain("too many statements wait");
    expect((await waiting).message).toContain("no connection became free");
    await slow;
    await client(gateway).execute("SELECT 1");
  });

  test("of open transactions count, and come back", async () => {
    const gateway = await place.start({ limits: { maxConnections: 1, waitMs: 100 } });
    const holder = client(gateway);
    await holder.execute("BEGIN");
    await holder.execute("SELECT 1");
    await refusal(client(gateway).execute("SELECT 1"));
    await holder.execute("ROLLBACK");
    await client(gateway).execute("SELECT 1");
    expect(gateway.stats.openConnections).toBe(1);
  });
});

test("closing gives a statement under way its moment, then ends it", async () => {
  const table = await place.makeTable("v INT");
  const patient = await place.start({ limits: { closeGraceMs: 10_000 } });
  const done = client(patient).execute("SELECT SLEEP(0.5)");
  await until("it runs", async () => (await running("SELECT SLEEP(0.5)")) === 1);
  await patient.close();
  expect((await done).size).toBe(1);

  const hasty = await place.start({ limits: { closeGraceMs: 50 } });
  const session = client(hasty);
  await session.execute("BEGIN");
  await session.execute(`INSERT INTO ${table} VALUES (1)`);
  const cut = client(hasty)
    .execute("SELECT SLEEP(30)")
    .catch((error: Error) => error.name);
  await until("it runs", async () => (await running("SELECT SLEEP(30)")) === 1);
  await hasty.close();
  await hasty.close();
  expect(await cut).toMatch(/Error/);
  await until("it ended", async () => (await running("SELECT SLEEP(30)")) === 0);
  expect(await place.runSql(`SELECT * FROM ${table}`)).toEqual([]);
});
