import { MAX_BATCH_BODY_BYTES } from "../../src/core/limits.ts";
import { DEFAULT_LIMITS } from "../../src/gateway/limits.ts";
import type { Check } from "./check.ts";

/** The server's variables that verify looks at, for SHOW VARIABLES. Not every server has all. */
export const VARIABLES = [
  "autocommit",
  "character_set_client",
  "character_set_connection",
  "character_set_results",
  "innodb_lock_wait_timeout",
  "max_allowed_packet",
  "max_statement_time",
  "sql_mode",
  "time_zone",
  "transaction_isolation",
  "tx_isolation",
  "version",
] as const;

export type Variables = ReadonlyMap<string, string>;

const MIB = 1024 * 1024;
/** The largest batch in hex is twice its bodies; as much again for its keys, IDs and headers, with room to spare. */
export const NEEDED_PACKET_BYTES = 16 * MIB;
/** PlanetScale and the gateway end a statement that changes something after so long. */
const KILLED_AFTER_MS = DEFAULT_LIMITS.statementMs;

/** What the server's settings say, without asking it for anything else. */
export function serverChecks(variables: Variables, horizonMs: number): Check[] {
  return [
    packetCheck(variables),
    commitCheck(variables, horizonMs),
    modeCheck(variables),
    isolationCheck(variables),
    characterSetCheck(variables),
    autocommitCheck(variables),
  ];
}

function packetCheck(variables: Variables): Check {
  const name = "max_allowed_packet";
  const bytes = Number(variables.get(name));
  const batch = `a batch of ${MAX_BATCH_BODY_BYTES / MIB} MiB is over ${(2 * MAX_BATCH_BODY_BYTES) / MIB} MiB of SQL`;
  if (!variables.has(name)) {
    return { name, state: "warning", detail: `the server does not say: ${batch}; check that it takes that` };
  }
  if (bytes >= NEEDED_PACKET_BYTES) return { name, state: "ok", detail: `${bytes / MIB} MiB` };
  return {
    name,
    state: "failed",
    detail: `${bytes / MIB} MiB, and ${batch}: set it to at least ${NEEDED_PACKET_BYTES / MIB} MiB`,
  };
}

/**
 * An offset is given when its INSERT starts, and its row is seen when that commits. The longest that lies between
 * must be shorter than the horizon, or a message may be passed over.
 */
function commitCheck(variables: Variables, horizonMs: number): Check {
  const name = "commit horizon";
  const lockWait = variables.get("innodb_lock_wait_timeout");
  if (lockWait === undefined) {
    return {
      name,
      state: "warning",
      detail: "the server does not say how long a statement waits for a lock",
    };
  }
  const lockWaitMs = Number(lockWait) * 1000;
  const ownLimitMs = Number(variables.get("max_statement_time") ?? 0) * 1000;
  const limitMs = ownLimitMs > 0 ? ownLimitMs : KILLED_AFTER_MS;
  const latestMs = lockWaitMs + limitMs;
  const found = `a statement waits ${lockWaitMs} ms for a lock and runs ${limitMs} ms at most, the horizon is ${horizonMs} ms`;
  if (latestMs >= horizonMs) {
    return {
      name,
      state: "failed",
      detail: `${found}: lower innodb_lock_wait_timeout or max_statement_time, or set COMMIT_HORIZON_MS over ${latestMs}`,
    };
  }
  if (ownLimitMs > 0) return { name, state: "ok", detail: found };
  return {
    name,
    state: "warning",
    detail: `${found}, but that limit is the gateway's and PlanetScale's, the server has none for changes: let nothing else write, or set max_statement_time where the server has it`,
  };
}

function modeCheck(variables: Variables): Check {
  const name = "sql_mode";
  const modes = (variables.get(name) ?? "").split(",");
  if (modes.includes("NO_BACKSLASH_ESCAPES")) {
    return {
      name,
      state: "failed",
      detail: "has NO_BACKSLASH_ESCAPES, under which values that the log escapes become SQL: take it out",
    };
  }
  if (modes.includes("ANSI_QUOTES") || modes.includes("PIPES_AS_CONCAT")) {
    return {
      name,
      state: "warning",
      detail: "has ANSI_QUOTES or PIPES_AS_CONCAT, which nothing is tested with",
    };
  }
  if (modes.includes("STRICT_TRANS_TABLES") || modes.includes("STRICT_ALL_TABLES")) {
    return { name, state: "ok", detail: "strict" };
  }
  return { name, state: "failed", detail: "not strict, so values are cut silently: add STRICT_TRANS_TABLES" };
}

function isolationCheck(variables: Variables): Check {
  const name = "transaction isolation";
  const level = variables.get("transaction_isolation") ?? variables.get("tx_isolation") ?? "not known";
  switch (level) {
    case "REPEATABLE-READ":
    case "READ-COMMITTED":
      return { name, state: "ok", detail: level };
    case "READ-UNCOMMITTED":
      return {
        name,
        state: "failed",
        detail: `${level}: a message could be delivered whose publish fails: set READ-COMMITTED`,
      };
    case "SERIALIZABLE":
      return { name, state: "failed", detail: `${level}: reads would block publishing: set READ-COMMITTED` };
    default:
      return { name, state: "warning", detail: `${level}: REPEATABLE-READ or READ-COMMITTED is needed` };
  }
}

function characterSetCheck(variables: Variables): Check {
  const name = "character sets";
  const wrong = ["character_set_client", "character_set_connection", "character_set_results"].filter(
    (each) => variables.get(each) !== "utf8mb4",
  );
  if (wrong.length === 0) return { name, state: "ok", detail: "connections speak utf8mb4" };
  const found = wrong.map((each) => `${each} is ${variables.get(each) ?? "not known"}`).join(", ");
  return { name, state: "failed", detail: `${found}, also when utf8mb4 was asked for: allow utf8mb4` };
}

function autocommitCheck(variables: Variables): Check {
  const name = "autocommit";
  const value = variables.get(name);
  if (value === "ON" || value === "1") return { name, state: "ok", detail: "on" };
  return {
    name,
    state: "failed",
    detail: `${value ?? "not known"}: every statement is a transaction of its own: switch it on`,
  };
}

/** One look at the server's clock. */
export interface ClockReading {
  /** In offsets: microseconds since 2020-01-01 UTC. */
  offset: number;
  /** What its local time is ahead of UTC. */
  zoneSeconds: number;
  /** This machine's clock, before and after. */
  askedMs: number;
  answeredMs: number;
}

const OFFSET_EPOCH_MS = Date.UTC(2020, 0, 1);
const MAX_SKEW_MS = 2000;

/** `readings`: some, at different times. */
export function clockChecks(readings: readonly ClockReading[]): Check[] {
  const [first] = readings;
  const zone = "time zone";
  const clock = "clock";
  if (!first) return [{ name: clock, state: "failed", detail: "could not be read" }];
  const zoneCheck: Check =
    first.zoneSeconds === 0
      ? { name: zone, state: "ok", detail: "UTC" }
      : {
          name: zone,
          state: "warning",
          detail: `${first.zoneSeconds} s from UTC: the log asks for UTC and does not mind; people who compare times will`,
        };
  const isWhole = readings.every(({ offset }) => offset % 1000 === 0);
  const behind = readings.find(({ offset }, place) => offset < (readings[place - 1]?.offset ?? offset));
  if (isWhole || behind) {
    const what = isWhole
      ? "counts milliseconds only, and offsets are microseconds"
      : "went back while it was read";
    return [
      zoneCheck,
      { name: clock, state: "failed", detail: `${what}: use another server, or mend its clock` },
    ];
  }
  const middleMs = (first.askedMs + first.answeredMs) / 2;
  const skewMs = Math.round(OFFSET_EPOCH_MS + first.offset / 1000 - middleMs);
  if (Math.abs(skewMs) > MAX_SKEW_MS) {
    const detail = `microseconds, ${skewMs} ms from this machine's: see that both keep the time`;
    return [zoneCheck, { name: clock, state: "warning", detail }];
  }
  return [zoneCheck, { name: clock, state: "ok", detail: `microseconds, ${skewMs} ms from this machine's` }];
}
