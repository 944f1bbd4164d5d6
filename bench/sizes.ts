import type { GrowthSize } from "./phases/growth.ts";

/** How much each phase does: a full run takes about six minutes on two cores, a quick one under one. */
export interface Sizes {
  publish: { rounds: number; roundMs: number };
  endToEnd: { windowMs: number };
  latency: { windowMs: number };
  rows: { messages: number };
  growth: GrowthSize;
  neighbour: { pairs: number; windowMs: number };
  split: { pairs: number; windowMs: number; starts: number };
}

export const FULL: Sizes = {
  publish: { rounds: 5, roundMs: 1500 },
  endToEnd: { windowMs: 15_000 },
  latency: { windowMs: 20_000 },
  rows: { messages: 20_000 },
  growth: {
    smallBacklog: 1000,
    largeBacklog: 100_000,
    fewPartitions: 10,
    manyPartitions: 10_000,
    partitionsBacklog: 20_000,
    retained: 100_000,
  },
  neighbour: { pairs: 5, windowMs: 6000 },
  split: { pairs: 3, windowMs: 6000, starts: 200 },
};

/** The growth ratios are between smaller ends than those that the targets speak of. */
export const QUICK: Sizes = {
  publish: { rounds: 1, roundMs: 300 },
  endToEnd: { windowMs: 1500 },
  latency: { windowMs: 1500 },
  rows: { messages: 1000 },
  growth: {
    smallBacklog: 600,
    largeBacklog: 3000,
    fewPartitions: 10,
    manyPartitions: 300,
    partitionsBacklog: 1200,
    retained: 1000,
  },
  neighbour: { pairs: 1, windowMs: 1000 },
  split: { pairs: 1, windowMs: 1000, starts: 10 },
};
