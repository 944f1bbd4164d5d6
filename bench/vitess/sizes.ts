import type { VitessGrowthSize } from "./growth.ts";
import type { NotifySize } from "./notify.ts";

/** How much each phase does: a usual run takes some six minutes on two cores, a quick one two. */
export interface VitessSizes {
  life: { messages: number };
  singles: { ratePerSecond: number; windowMs: number };
  publish: { rounds: number; roundMs: number };
  endToEnd: { windowMs: number };
  latency: { ratePerSecond: number; windowMs: number };
  notify: NotifySize;
  growth: VitessGrowthSize;
}

const RATES = { singles: 100, latency: 100, notify: 2000 };
const FULL_GROWTH: VitessGrowthSize = {
  smallBacklog: 1000,
  largeBacklog: 1_000_000,
  fewPartitions: 10,
  manyPartitions: 10_000,
  partitionsBacklog: 20_000,
  fewRetained: 100,
  manyRetained: 1_000_000,
};

export const USUAL: VitessSizes = {
  life: { messages: 20_000 },
  singles: { ratePerSecond: RATES.singles, windowMs: 10_000 },
  publish: { rounds: 3, roundMs: 1500 },
  endToEnd: { windowMs: 15_000 },
  latency: { ratePerSecond: RATES.latency, windowMs: 20_000 },
  notify: { pairs: 4, windowMs: 6000, ratePerSecond: RATES.notify },
  growth: { ...FULL_GROWTH, largeBacklog: 100_000, manyRetained: 100_000 },
};

export const FULL: VitessSizes = { ...USUAL, growth: FULL_GROWTH };

/** The growth ratios are between smaller ends than those that the targets speak of. */
export const QUICK: VitessSizes = {
  life: { messages: 2000 },
  singles: { ratePerSecond: RATES.singles, windowMs: 2000 },
  publish: { rounds: 1, roundMs: 300 },
  endToEnd: { windowMs: 1500 },
  latency: { ratePerSecond: RATES.latency, windowMs: 2000 },
  notify: { pairs: 1, windowMs: 2000, ratePerSecond: RATES.notify },
  growth: {
    smallBacklog: 600,
    largeBacklog: 5000,
    fewPartitions: 10,
    manyPartitions: 300,
    partitionsBacklog: 1200,
    fewRetained: 100,
    manyRetained: 5000,
  },
};
