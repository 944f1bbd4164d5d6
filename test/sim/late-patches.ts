import type { SourcePatch } from "./source-patches.ts";

/** Faults in what finds late messages, and in what survives the loss of the object. */
export const LATE_PATCHES: readonly SourcePatch[] = [
  {
    name: "known offsets that are not saved",
    guarantee: "G2",
    title: "G3 strict",
    edits: [
      {
        file: "durable/group-state.ts",
        find: "progress.knownOffsets = known.unsavedText;",
        replace: 'progress.knownOffsets = "";',
      },
    ],
  },
  {
    name: "what was read once taken for sure",
    guarantee: "G2",
    title: "G2 hints",
    edits: [
      {
        file: "durable/applied-read.ts",
        find: "if (known.sureOffset < afterOffset) return;",
        replace: "if (afterOffset < 0) return;",
      },
    ],
  },
  {
    name: "no second look behind the horizon",
    guarantee: "G2",
    title: "G2 hints",
    edits: [
      {
        file: "durable/applied-read.ts",
        find: "for (const entry of entries) this.late(entry);",
        replace: "",
      },
    ],
  },
  {
    name: "a hint that is not gone back for",
    guarantee: "G3",
    title: "G3 publishers",
    edits: [
      {
        file: "durable/group-state.ts",
        find: "this.rereadFrom = Math.min(from, this.rereadFrom ?? from);",
        replace: "",
      },
    ],
  },
  {
    name: "a hint that comes during a read and waits for the next",
    guarantee: "G3",
    title: "G3 publishers that meet a slow log",
    rare: true,
    edits: [
      {
        file: "durable/group-reader.ts",
        find: "if (from === null || from > through) break;",
        replace: "if (from === null || from !== -1) break;",
      },
    ],
  },
  {
    name: "a checkpoint that claims what is not settled",
    guarantee: "G2",
    title: "loss",
    edits: [
      {
        file: "durable/checkpoint-pass.ts",
        find: "for (const { offset } of lane.exceptions) unsettled.push(offset);",
        replace: "",
      },
    ],
  },
  {
    name: "a checkpoint that claims what may yet appear",
    guarantee: "G2",
    title: "loss",
    rare: true,
    edits: [
      {
        file: "durable/checkpoint-pass.ts",
        find: "const completeOffset = Math.min(group.known.sureOffset, readThrough);",
        replace: "const completeOffset = readThrough;",
      },
    ],
  },
  {
    name: "checkpoints that come late",
    guarantee: "G2",
    title: "loss",
    edits: [
      {
        file: "core/dispatch-limits.ts",
        find: "export const CHECKPOINT_DELAY_MS = 3500;",
        replace: "export const CHECKPOINT_DELAY_MS = 12_000;",
      },
    ],
  },
  {
    name: "a recovery that asks nobody what was settled",
    guarantee: "G2",
    title: "loss",
    edits: [
      {
        file: "durable/tenant.ts",
        find: "group.progress.recoverThrough = tail.offset;",
        replace: "group.progress.recoverThrough = 0;",
      },
    ],
  },
  {
    name: "collection of what may yet appear",
    guarantee: "G10",
    title: "G10",
    rare: true,
    edits: [
      {
        file: "durable/collect-settled.ts",
        find: "let settled = group.known.sureOffset;",
        replace: "let settled = group.progress.scanOffset;",
      },
    ],
  },
  {
    name: "a due time by the wrong clock",
    guarantee: "G3",
    title: "G6",
    edits: [
      { file: "durable/log-clock.ts", find: "return nowMs + this.ahead;", replace: "return nowMs;" },
      { file: "durable/log-clock.ts", find: "return this.ahead;", replace: "return 0;" },
    ],
  },
];
