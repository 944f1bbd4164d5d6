/** A fault put into a copy of the product's source: each text stands there exactly once and is replaced. */
export interface SourcePatch {
  name: string;
  /** The guarantee whose violation must be reported. */
  guarantee: string;
  /** Profiles in which it shows, by the beginning of their titles. */
  title: string;
  /** More seeds than usual are needed to meet it. */
  rare?: boolean;
  edits: { file: string; find: string; replace: string }[];
}

export const SOURCE_PATCHES: readonly SourcePatch[] = [
  {
    name: "a walked offset that runs ahead",
    guarantee: "G2",
    title: "G3",
    edits: [
      { file: "core/lane.ts", find: "this.walkTo(last.offset);", replace: "this.walkTo(last.offset + 1);" },
    ],
  },
  {
    name: "a run that swallows its neighbour",
    guarantee: "G2",
    title: "G3 order, calm",
    edits: [
      {
        file: "core/lane.ts",
        find: "run.messages.splice(place, 1);",
        replace: "run.messages.splice(place, 2);",
      },
    ],
  },
  {
    name: "a message granted to two subscribers",
    guarantee: "G4",
    title: "G4",
    edits: [
      {
        file: "core/walk.ts",
        find: 'if (untilMs > rules.nowMs) return { kind: "inFlight", subscriber, attempt, untilMs };',
        replace:
          'if (untilMs > rules.nowMs + 900) return { kind: "inFlight", subscriber, attempt, untilMs };',
      },
    ],
  },
  {
    name: "a lane of two owners",
    guarantee: "G4",
    title: "G4",
    edits: [
      {
        file: "core/lane-index.ts",
        find: "return this.readyOwned.get(subscriber) ?? new Map();",
        replace: "return new Map([...this.readyOwned.values()].flatMap((lanes) => [...lanes]));",
      },
    ],
  },
  {
    name: "epochs that do not grow",
    guarantee: "G4",
    title: "G4",
    edits: [
      {
        file: "durable/group-state.ts",
        find: "this.progress.lastEpoch = Math.max(this.progress.lastEpoch + 1, nowMs);",
        replace: "this.progress.lastEpoch = Math.max(this.progress.lastEpoch, 1);",
      },
    ],
  },
  {
    name: "a lost nack",
    guarantee: "G2",
    title: "G6",
    edits: [
      {
        file: "durable/commands/settle.ts",
        find: "const delayMs = settlement.delayMs ?? backoffMs(settings.retry, holder.attempt);",
        replace:
          "const delayMs = settlement.delayMs ?? backoffMs(settings.retry, holder.attempt);\n      if (delayMs > 0) return lane.settle(offset) && false;",
      },
    ],
  },
  {
    name: "a nack that is retried at once",
    guarantee: "G2",
    title: "G6",
    edits: [
      {
        file: "core/walk.ts",
        find: 'case "backingOff":',
        replace:
          'case "backingOff":\n      if (atMs - rules.nowMs < 900) return { kind: "deliverable", attempt: attempt + 1 };',
      },
    ],
  },
  {
    name: "a count that leaks",
    guarantee: "G11",
    title: "G11",
    edits: [
      {
        file: "core/lane-index.ts",
        find: "this.exceptions += after.exceptions - before.exceptions;",
        replace: "this.exceptions += Math.max(0, after.exceptions - before.exceptions);",
      },
    ],
  },
  {
    name: "lapsed deliveries that keep their place in flight",
    guarantee: "G2",
    title: "G3",
    edits: [
      {
        file: "core/walk.ts",
        find: 'for (const e of lane.exceptions) if (e.state === "inFlight" && e.atMs > nowMs) count += 1;',
        replace: 'for (const e of lane.exceptions) if (e.state === "inFlight") count += 1;',
      },
    ],
  },
  {
    name: "a second dead-letter copy",
    guarantee: "G2",
    title: "G11 nothing leaks",
    edits: [
      {
        file: "durable/dead-letter-pass.ts",
        find: "const copy = { offset, group: name, attempts: attempt, failedAtMs: atMs, reason, origin };",
        replace:
          "const copy = { offset, group: name, attempts: attempt, failedAtMs: atMs, reason, origin: origin + Math.random() };",
      },
    ],
  },
  {
    name: "a dead letter that is settled without its copy",
    guarantee: "G2",
    title: "G6",
    edits: [
      {
        file: "durable/care.ts",
        find: "lane.except({",
        replace: "if (lane.settle(failed.offset)) return true;\n  lane.except({",
      },
    ],
  },
  {
    name: "a receipt that survives its delivery",
    guarantee: "G5",
    title: "G5",
    edits: [
      {
        file: "durable/commands/settle.ts",
        find: "if (!lane || !holder || holder.nonce !== parsed.nonce)",
        replace: "if (!lane || !holder)",
      },
    ],
  },
  {
    name: "a receipt that dies with its visibility",
    guarantee: "G5",
    title: "G5",
    edits: [
      {
        file: "durable/commands/settle.ts",
        find: "if (!lane || !holder || holder.nonce !== parsed.nonce)",
        replace: "if (!lane || !holder || holder.nonce !== parsed.nonce || holder.visibleUntilMs < nowMs)",
      },
    ],
  },
  {
    name: "deliveries that outlive their subscriber's leaving",
    guarantee: "G5",
    title: "G5",
    rare: true,
    edits: [
      {
        file: "durable/commands/subscribers.ts",
        find: "giveBackDeliveries(group, deliveriesOf(group, input.subscriber), nowMs);",
        replace: "deliveriesOf(group, input.subscriber);",
      },
    ],
  },
  {
    name: "a barrier that is passed",
    guarantee: "G3",
    title: "G3",
    edits: [
      {
        file: "core/walk.ts",
        find: 'if (verdict.kind === "postponed") stop(outcome, "barrier", offset);',
        replace: 'if (verdict.kind === "postponed" && strict) stop(outcome, "barrier", offset);',
      },
    ],
  },
  {
    name: "a strict lane that flows on",
    guarantee: "G3",
    title: "G3",
    edits: [
      {
        file: "core/walk.ts",
        find: "const strict = rules.maxInFlight === 1;",
        replace: "const strict = rules.maxInFlight === 0;",
      },
    ],
  },
  {
    name: "deliveries in another order",
    guarantee: "G3",
    title: "G3",
    edits: [
      {
        file: "durable/deliver.ts",
        find: "for (const [at, one] of granted.entries()) {",
        replace: "for (const [at, one] of [...granted.entries()].reverse()) {",
      },
    ],
  },
  {
    name: "an undue delayed message that is lost",
    guarantee: "G2",
    title: "G9",
    edits: [
      {
        file: "durable/applied-read.ts",
        find: "if (entry.offset > progress.scanOffset || !this.concerns(entry)) continue;",
        replace: "if (entry.offset >= progress.scanOffset || !this.concerns(entry)) continue;",
      },
    ],
  },
  {
    name: "an ack undone by the due cursor",
    guarantee: "G2",
    title: "G9",
    rare: true,
    edits: [
      {
        file: "durable/group-state.ts",
        find: "if (this.dueMoved && this.touched.size > 0) this.progressTouched = true;",
        replace: "",
      },
    ],
  },
  {
    name: "one attempt more than allowed",
    guarantee: "G2",
    title: "G6",
    edits: [
      {
        file: "durable/commands/settle.ts",
        find: "holder.attempt >= maxAttempts",
        replace: "holder.attempt > maxAttempts",
      },
    ],
  },
  {
    name: "attempts that are not counted",
    guarantee: "G2",
    title: "G6",
    edits: [{ file: "durable/commands/settle.ts", find: "attempt: holder.attempt,", replace: "attempt: 0," }],
  },
  {
    name: "collection of an unsettled message",
    guarantee: "G10",
    title: "G10",
    edits: [
      {
        file: "core/collection.ts",
        find: "view.groups.length > 0 && missing.length === 0;",
        replace: "view.groups.length > 0 && missing.length <= 1;",
      },
    ],
  },
  {
    name: "a failed commit that is answered as done",
    guarantee: "G1",
    title: "G1 ",
    edits: [
      {
        file: "durable/publish-queue.ts",
        find: "for (const { reject } of batch) reject(error);",
        replace:
          "for (const { input, resolve } of batch) resolve({ results: input.messages.map(() => ({ duplicate: false })), stored: null });",
      },
    ],
  },
  {
    name: "bodies that are parsed and written anew",
    guarantee: "G12",
    title: "G12",
    edits: [
      {
        file: "durable/deliver.ts",
        find: "body: message.body,",
        replace:
          'body: typeof message.body === "string" ? JSON.stringify(JSON.parse(message.body)) : message.body,',
      },
    ],
  },
  {
    name: "a share that binds nobody",
    guarantee: "G4",
    title: "G4",
    rare: true,
    edits: [
      { file: "core/share.ts", find: "take(input, share, share, giveUp);", replace: "" },
      {
        file: "core/share.ts",
        find: "take(input, least, least, giveUp);",
        replace: "return { share, giveUp };",
      },
    ],
  },
  {
    name: "a redriven message that every group gets",
    guarantee: "G6",
    title: "G6 admin",
    rare: true,
    edits: [
      {
        file: "durable/applied-read.ts",
        find: "return entry.targetGroup === null || entry.targetGroup === this.group.key.group;",
        replace: "return entry.offset > 0;",
      },
    ],
  },
  {
    name: "a reset that leaves deliveries behind",
    guarantee: "G5",
    title: "G6 admin",
    rare: true,
    edits: [{ file: "core/lane.ts", find: "this.runs = [];", replace: "" }],
  },
  {
    name: "a lease that is not written",
    guarantee: "G11",
    title: "G4",
    edits: [
      {
        file: "durable/group-state.ts",
        find: "if (isKept) kept.push(lane);",
        replace: "if (isKept && changes.state) kept.push(lane);",
      },
    ],
  },
];
