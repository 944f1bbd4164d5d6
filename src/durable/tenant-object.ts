import { DurableObject } from "cloudflare:workers";
import { makeObjectLog, makeVitessLogs } from "../log/compose.ts";
import { type LogConfig, type LogVariables, readLogConfig } from "../log/log-config.ts";
import { OBJECT_SCHEMA } from "../log/object/schema.generated.ts";
import type { Outcome, TenantCalls } from "../protocol/tenant-calls.ts";
import { type CommandInput, type CommandName, type CommandValue, Engine } from "./engine.ts";
import { GC_REGISTRY_NAME, type GcRegistry } from "./gc-registry.ts";
import { migrate } from "./migrate.ts";
import { Platform } from "./platform.ts";

interface Bindings extends LogVariables {
  GC_REGISTRY: DurableObjectNamespace<GcRegistry>;
}

interface Opened {
  kind: "opened";
  platform: Platform;
  engine: Engine;
}

/** Unclaimed: nobody has said whose object it is. Misconfigured: its variables do not say which log it has. */
type Opening = Opened | { kind: "unclaimed" } | { kind: "misconfigured"; platform: Platform };

/** A new deployment starts the object anew, so this is only how long it stays armed for one. */
const MISCONFIGURED_ALARM_MS = 60_000;

type Call<N extends CommandName> = (
  tenant: string,
  input: CommandInput<N>,
) => Promise<Outcome<CommandValue<N>>>;

/**
 * Only wires: the platform on one side, the engine on the other.
 *
 * The object learns its tenant's name from its first call and keeps it, so that the alarm knows it too, and
 * no call for another tenant ever touches its rows.
 */
export class TenantObject extends DurableObject<Bindings> implements TenantCalls {
  private opened: Opened | null = null;
  private opening: Promise<Opening> | null = null;

  publish(...call: Parameters<Call<"publish">>): ReturnType<Call<"publish">> {
    return this.run("publish", ...call);
  }
  notify(...call: Parameters<Call<"notify">>): ReturnType<Call<"notify">> {
    return this.run("notify", ...call);
  }
  take(...call: Parameters<Call<"take">>): ReturnType<Call<"take">> {
    return this.run("take", ...call);
  }
  reportReads(...call: Parameters<Call<"reportReads">>): ReturnType<Call<"reportReads">> {
    return this.run("reportReads", ...call);
  }
  giveBack(...call: Parameters<Call<"giveBack">>): ReturnType<Call<"giveBack">> {
    return this.run("giveBack", ...call);
  }
  settle(...call: Parameters<Call<"settle">>): ReturnType<Call<"settle">> {
    return this.run("settle", ...call);
  }
  heartbeat(...call: Parameters<Call<"heartbeat">>): ReturnType<Call<"heartbeat">> {
    return this.run("heartbeat", ...call);
  }
  leave(...call: Parameters<Call<"leave">>): ReturnType<Call<"leave">> {
    return this.run("leave", ...call);
  }
  putGroup(...call: Parameters<Call<"putGroup">>): ReturnType<Call<"putGroup">> {
    return this.run("putGroup", ...call);
  }
  getGroup(...call: Parameters<Call<"getGroup">>): ReturnType<Call<"getGroup">> {
    return this.run("getGroup", ...call);
  }
  deleteGroup(...call: Parameters<Call<"deleteGroup">>): ReturnType<Call<"deleteGroup">> {
    return this.run("deleteGroup", ...call);
  }
  putTopic(...call: Parameters<Call<"putTopic">>): ReturnType<Call<"putTopic">> {
    return this.run("putTopic", ...call);
  }
  getTopic(...call: Parameters<Call<"getTopic">>): ReturnType<Call<"getTopic">> {
    return this.run("getTopic", ...call);
  }
  listTopics(...call: Parameters<Call<"listTopics">>): ReturnType<Call<"listTopics">> {
    return this.run("listTopics", ...call);
  }
  listMessages(...call: Parameters<Call<"listMessages">>): ReturnType<Call<"listMessages">> {
    return this.run("listMessages", ...call);
  }
  getMessage(...call: Parameters<Call<"getMessage">>): ReturnType<Call<"getMessage">> {
    return this.run("getMessage", ...call);
  }
  deleteMessage(...call: Parameters<Call<"deleteMessage">>): ReturnType<Call<"deleteMessage">> {
    return this.run("deleteMessage", ...call);
  }
  purgeMessages(...call: Parameters<Call<"purgeMessages">>): ReturnType<Call<"purgeMessages">> {
    return this.run("purgeMessages", ...call);
  }
  lag(...call: Parameters<Call<"lag">>): ReturnType<Call<"lag">> {
    return this.run("lag", ...call);
  }
  resetOffset(...call: Parameters<Call<"resetOffset">>): ReturnType<Call<"resetOffset">> {
    return this.run("resetOffset", ...call);
  }
  leases(...call: Parameters<Call<"leases">>): ReturnType<Call<"leases">> {
    return this.run("leases", ...call);
  }
  releaseLease(...call: Parameters<Call<"releaseLease">>): ReturnType<Call<"releaseLease">> {
    return this.run("releaseLease", ...call);
  }
  putRoute(...call: Parameters<Call<"putRoute">>): ReturnType<Call<"putRoute">> {
    return this.run("putRoute", ...call);
  }
  getRoute(...call: Parameters<Call<"getRoute">>): ReturnType<Call<"getRoute">> {
    return this.run("getRoute", ...call);
  }
  listRoutes(...call: Parameters<Call<"listRoutes">>): ReturnType<Call<"listRoutes">> {
    return this.run("listRoutes", ...call);
  }
  deleteRoute(...call: Parameters<Call<"deleteRoute">>): ReturnType<Call<"deleteRoute">> {
    return this.run("deleteRoute", ...call);
  }
  explain(...call: Parameters<Call<"explain">>): ReturnType<Call<"explain">> {
    return this.run("explain", ...call);
  }
  waitingLanes(...call: Parameters<Call<"waitingLanes">>): ReturnType<Call<"waitingLanes">> {
    return this.run("waitingLanes", ...call);
  }
  subscribers(...call: Parameters<Call<"subscribers">>): ReturnType<Call<"subscribers">> {
    return this.run("subscribers", ...call);
  }
  overview(...call: Parameters<Call<"overview">>): ReturnType<Call<"overview">> {
    return this.run("overview", ...call);
  }
  deadLetters(...call: Parameters<Call<"deadLetters">>): ReturnType<Call<"deadLetters">> {
    return this.run("deadLetters", ...call);
  }
  redrive(...call: Parameters<Call<"redrive">>): ReturnType<Call<"redrive">> {
    return this.run("redrive", ...call);
  }
  purgeDeadLetters(...call: Parameters<Call<"purgeDeadLetters">>): ReturnType<Call<"purgeDeadLetters">> {
    return this.run("purgeDeadLetters", ...call);
  }
  collect(...call: Parameters<Call<"collect">>): ReturnType<Call<"collect">> {
    return this.run("collect", ...call);
  }

  /** May come twice, early, or before any call after a restart. */
  override async alarm(): Promise<void> {
    const opening = await this.open(null);
    if (opening.kind === "unclaimed") return;
    const { alarm } = opening.platform;
    alarm.fired();
    if (opening.kind === "opened") await opening.engine.alarm();
    else alarm.set(Date.now() + MISCONFIGURED_ALARM_MS);
  }

  private async run<N extends CommandName>(
    name: N,
    tenant: string,
    input: CommandInput<N>,
  ): Promise<Outcome<CommandValue<N>>> {
    const opening = this.opened ?? (await this.open(tenant));
    if (opening.kind === "misconfigured") {
      return { ok: false, error: { code: "internal", detail: "the tenant object is not configured" } };
    }
    if (opening.kind === "unclaimed" || opening.engine.tenant.name !== tenant) {
      return { ok: false, error: { code: "internal", detail: "the call reached another tenant's object" } };
    }
    return opening.engine.call(name, input);
  }

  /** Opens the object once; again while nobody has said whose it is (an alarm on an object that holds nothing). */
  private open(tenant: string | null): Promise<Opening> {
    this.opening ??= this.openOnce(tenant).then(
      (opening) => {
        if (opening.kind === "opened") this.opened = opening;
        if (opening.kind === "unclaimed") this.opening = null;
        return opening;
      },
      (error: unknown) => {
        // The next call tries again; this one fails as a whole.
        this.opening = null;
        throw error;
      },
    );
    return this.opening;
  }

  private async openOnce(tenant: string | null): Promise<Opening> {
    const platform = await Platform.open(this.ctx.storage);
    const read = readLogConfig(this.env);
    if (!read.ok) {
      platform.report("configuration", new Error(read.reason));
      return { kind: "misconfigured", platform };
    }
    migrate(platform.sql, platform.clock, OBJECT_SCHEMA);
    const claim = claimOf(platform, tenant, read.log.kind);
    if (claim === null) return { kind: "unclaimed" };
    if (claim.messageLog !== read.log.kind) {
      const reason = `MESSAGE_LOG is ${read.log.kind}, and this tenant's object was made for ${claim.messageLog}`;
      platform.report("configuration", new Error(reason));
      return { kind: "misconfigured", platform };
    }
    const name = claim.tenant;
    const registry = this.env.GC_REGISTRY;
    platform.announceActive = async (activity) => {
      // A new stub each time: one that has failed stays broken.
      await registry.get(registry.idFromName(GC_REGISTRY_NAME)).markActive(name, activity);
    };
    return { kind: "opened", platform, engine: engineOf(name, platform, read.log) };
  }
}

function engineOf(tenant: string, platform: Platform, log: LogConfig): Engine {
  switch (log.kind) {
    case "object": {
      const embedded = makeObjectLog(tenant, platform.sql, platform.clock);
      return new Engine(tenant, platform, embedded, embedded);
    }
    case "vitess":
      return new Engine(tenant, platform, makeVitessLogs(log)(tenant), null);
  }
}

/**
 * Whose object this is, and beside which log: the first call says it, storage remembers it. Its lanes name offsets
 * of that log; with the other one they would pass over messages.
 */
function claimOf(
  platform: Platform,
  tenant: string | null,
  messageLog: LogConfig["kind"],
): { tenant: string; messageLog: string } | null {
  const [row] = platform.sql.all("SELECT tenant, message_log FROM queue_tenant LIMIT 1");
  if (row) return { tenant: String(row.tenant), messageLog: String(row.message_log) };
  if (tenant === null) return null;
  platform.sql.run(
    "INSERT INTO queue_tenant (tenant, activity, message_log) VALUES (?, 0, ?)",
    tenant,
    messageLog,
  );
  return { tenant, messageLog };
}
