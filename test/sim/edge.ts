import { FairlaneError } from "../../src/core/failure.ts";
import type { CommandInput } from "../../src/durable/engine.ts";
import type { AppendOutcome, StoredMessage } from "../../src/log/message-log.ts";
import type {
  DeliveryView,
  GrantView,
  Outcome,
  PublishInput,
  ReportReadsInput,
  TakeInput,
  TakeReply,
} from "../../src/protocol/tenant-calls.ts";
import type { Answer, Reply } from "./call-way.ts";
import { Hints } from "./hints.ts";
import type { Call, History } from "./history.ts";
import type { LateLog } from "./late-log.ts";
import type { LogWay } from "./log-way.ts";
import type { Prng } from "./prng.ts";
import type { World } from "./world.ts";

/** A late publish waits so long for its hint. */
const HINT_PATIENCE_MS = 250;
/** Workers have no memory to lose: one that is gone is a reply that was lost, which the way of a call sees to. */
const WORKER = { isAlive: () => true, moved: () => {} };

type ObjectCommand = "notify" | "reportReads";

export interface EdgePorts {
  world: World;
  prng: Prng;
  history: History;
  log: LateLog;
  way: LogWay;
  isHintLost(): boolean;
  send<N extends ObjectCommand>(name: N, input: CommandInput<N>, onReply: Answer<N>): void;
}

/** What Workers do where the log is outside the object: they write and read messages, and tell the object. */
export class Edge {
  private readonly ports: EdgePorts;
  private readonly hints: Hints;

  constructor(ports: EdgePorts) {
    this.ports = ports;
    this.hints = new Hints(ports.world, ports.prng, ports.isHintLost, (input, done) => {
      ports.send("notify", input, (reply) => done(reply?.ok === true));
    });
  }

  publish(input: PublishInput, answer: Answer<"publish">): void {
    const { history, world } = this.ports;
    const call = history.started("publish", input);
    this.append(call, input).then((outcome) => {
      history.ended(call, outcome);
      answer(outcome);
    }, world.failed);
  }

  /** Makes the reply of a take from what the object granted. */
  complete(call: Call<"take">, granted: Reply<"take">, answer: Answer<"take">): void {
    const { history, world } = this.ports;
    if (!granted?.ok) {
      answer(granted);
      return;
    }
    this.read(call.input, granted.value).then((outcome) => {
      history.ended(call, outcome);
      answer(outcome);
    }, world.failed);
  }

  /** Appends, then sends the hint; waits for it when dispatch may have read past what was stored. */
  private async append(call: Call<"publish">, input: PublishInput): Promise<Outcome<AppendOutcome>> {
    const { log, way } = this.ports;
    let value: AppendOutcome;
    try {
      const appended = way.run("append", [], WORKER, () => log.append(input.topic, input.messages));
      value = (await appended) as AppendOutcome;
    } catch (error) {
      return failed(error);
    }
    const told = await this.hint(input, value);
    if (value.late && !told) call.unordered = true;
    return { ok: true, value };
  }

  /** Resolves at once unless the publish is late; then with whether the object heard of it in time. */
  private hint(input: PublishInput, { results, stored, late }: AppendOutcome): Promise<boolean> {
    const isNew = results.some(({ duplicate }) => !duplicate);
    if (stored === null && !isNew) return Promise.resolve(true);
    const offsets = stored && { lowest: stored.lowestOffset, highest: stored.highestOffset };
    return new Promise((resolve) => {
      this.hints.tell(input.topic, offsets, resolve);
      if (late)
        this.ports.world.after(HINT_PATIENCE_MS, "a late publish waits no more", () => resolve(false));
      else resolve(true);
    });
  }

  /** Reads the bodies of what was granted, and tells the object what could not be read. */
  private async read(input: TakeInput, reply: TakeReply): Promise<Outcome<TakeReply>> {
    if (reply.grants.length === 0) return { ok: true, value: reply };
    const { log, way } = this.ports;
    const { topic, group } = input;
    const offsets = reply.grants.map(({ offset }) => offset);
    let found: StoredMessage[];
    try {
      const read = way.run("readMessages", [], WORKER, () => log.readMessages(topic, offsets));
      found = (await read) as StoredMessage[];
    } catch (error) {
      await this.report({ topic, group, ...NOTHING, unreachable: receiptsOf(reply.grants) });
      return failed(error);
    }
    const byOffset = new Map(found.map((message) => [message.offset, message]));
    const deliveries = reply.grants.flatMap((grant) => {
      const message = byOffset.get(grant.offset);
      return message ? [deliveryOf(grant, message)] : [];
    });
    const missing = receiptsOf(reply.grants.filter(({ offset }) => !byOffset.has(offset)));
    if (missing.length > 0) await this.report({ topic, group, ...NOTHING, missing });
    return { ok: true, value: { ...reply, deliveries } };
  }

  /** Resolves when it was answered, or nobody knows. */
  private report(input: ReportReadsInput): Promise<void> {
    return new Promise((resolve) => this.ports.send("reportReads", input, () => resolve()));
  }
}

const NOTHING = { missing: [], unreadable: [], unreachable: [] };

function failed(error: unknown): { ok: false; error: FairlaneError["failure"] } {
  if (error instanceof FairlaneError) return { ok: false, error: error.failure };
  return { ok: false, error: { code: "internal", detail: String(error) } };
}

function receiptsOf(grants: readonly GrantView[]): string[] {
  return grants.map(({ receipt }) => receipt);
}

function deliveryOf(grant: GrantView, message: StoredMessage): DeliveryView {
  const { id, body, contentType, headers, publishedAtMs, deadLetter } = message;
  return { ...grant, id, body, contentType, headers, publishedAt: publishedAtMs, deadLetter };
}
