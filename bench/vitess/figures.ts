import { type Line, nested } from "../figures.ts";
import type { EndToEndFigures } from "../phases/end-to-end.ts";
import type { LatencyFigures } from "../phases/latency.ts";
import type { BatchRates } from "../phases/publish.ts";
import { rounded } from "../statistics.ts";
import type { Cost } from "./cost.ts";
import type { ReceiveCost, VitessGrowthFigures } from "./growth.ts";
import {
  LIFE_HORIZON_MS,
  LIFE_RETENTION_MS,
  LIFE_STEPS,
  type LifeFigures,
  type SinglesFigures,
} from "./life.ts";
import type { NotifyFigures } from "./notify.ts";
import type { VitessSizes } from "./sizes.ts";

/** What each phase found; a phase that was not asked for, or that failed, is absent. */
export interface VitessFigures {
  life?: LifeFigures;
  singles?: SinglesFigures;
  publish?: BatchRates;
  endToEnd?: EndToEndFigures & { statements: number };
  latency?: LatencyFigures;
  notify?: NotifyFigures;
  growth?: VitessGrowthFigures;
}

const MAX_STATEMENTS = 0.1;
const MAX_STATEMENTS_SINGLES = 3.2;
const MAX_ROWS_READ = 5;
const MAX_ROWS_WRITTEN = 2.5;
const MAX_OBJECT_ROWS = 1.5;
const MAX_GROWTH = 1.5;
const MIN_END_TO_END = 5000;
const MAX_P99_MS = 50;
const MAX_NOTIFIES = 100;
const MAX_NOTIFY_RATIO = 1.5;
/** Below this part of the rate that was asked for, what the load did to receives says less than it should. */
const REACHED_PART = 0.95;

export function vitessLines(figures: VitessFigures): Line[] {
  const { life, singles, publish, endToEnd, latency, notify, growth } = figures;
  return [
    ...(life ? lifeLines(life) : []),
    ...(singles ? singlesLines(singles) : []),
    ...(publish ? publishLines(publish) : []),
    ...(endToEnd ? endToEndLines(endToEnd) : []),
    ...(latency ? latencyLines(latency) : []),
    ...(notify ? notifyLines(notify) : []),
    ...(growth ? growthLines(growth) : []),
  ];
}

/** The figures by name, the sizes that they were measured at, and the phases that failed. */
export function vitessJson(
  figures: VitessFigures,
  sizes: VitessSizes,
  failed: readonly string[],
): Record<string, unknown> {
  return {
    ...nested(vitessLines(figures)),
    ...(figures.growth ? { receives: figures.growth.cases } : {}),
    sizes: { ...sizes, life: { ...sizes.life, horizonMs: LIFE_HORIZON_MS, retentionMs: LIFE_RETENTION_MS } },
    failed,
  };
}

function atMost(value: number): Line["target"] {
  return { kind: "at most", value };
}

function atLeast(value: number): Line["target"] {
  return { kind: "at least", value };
}

function byStep({ steps }: LifeFigures, name: keyof Cost): string {
  return LIFE_STEPS.map((step) => `${step} ${rounded(steps[step][name], 3)}`).join(", ");
}

function lifeLines(life: LifeFigures): Line[] {
  const line = (what: string, name: keyof Cost, unit: string, target: number | null): Line => ({
    what,
    value: life.total[name],
    unit,
    target: target === null ? null : atMost(target),
    note: byStep(life, name),
  });
  return [
    line("statements", "statements", "a msg", MAX_STATEMENTS),
    line("roundTrips", "roundTrips", "a msg", MAX_STATEMENTS),
    line("rows.read", "rowsRead", "rows/msg", MAX_ROWS_READ),
    line("rows.written", "rowsWritten", "rows/msg", MAX_ROWS_WRITTEN),
    line("rows.object", "objectWritten", "rows/msg", MAX_OBJECT_ROWS),
    line("rows.objectRead", "objectRead", "rows/msg", null),
  ];
}

function singlesLines(singles: SinglesFigures): Line[] {
  const note = `at ${singles.ratePerSecond} a second; ${byStep(singles, "statements")}`;
  return [
    {
      what: "statementsSingles",
      value: singles.total.statements,
      unit: "a msg",
      target: atMost(MAX_STATEMENTS_SINGLES),
      note,
    },
    {
      what: "roundTripsSingles",
      value: singles.total.roundTrips,
      unit: "a msg",
      target: atMost(MAX_STATEMENTS_SINGLES),
      note: "",
    },
  ];
}

function publishLines(publish: BatchRates): Line[] {
  return (["batch1", "batch10", "batch100"] as const).map((batch) => ({
    what: `publish.${batch}`,
    value: publish[batch],
    unit: "msg/s",
    target: null,
    note: "",
  }));
}

function endToEndLines({
  rate,
  minBacklog,
  maxBacklog,
  redelivered,
  statements,
}: Required<VitessFigures>["endToEnd"]): Line[] {
  const note =
    `backlog ${minBacklog} to ${maxBacklog}, ${redelivered} delivered again, ` +
    `${rounded(statements, 3)} statements a message`;
  return [{ what: "endToEnd", value: rate, unit: "msg/s", target: atLeast(MIN_END_TO_END), note }];
}

function latencyLines({ p50, p99, max, samples, maxLateMs }: LatencyFigures): Line[] {
  const note = `max ${rounded(max, 3)} ms of ${samples}; sent at most ${rounded(maxLateMs, 2)} ms late`;
  return [
    { what: "latency.p50", value: p50, unit: "ms", target: null, note: "" },
    { what: "latency.p99", value: p99, unit: "ms", target: atMost(MAX_P99_MS), note },
  ];
}

function notifyLines(notify: NotifyFigures): Line[] {
  const { perSecond, ratio, aloneP50, aloneP99, besideP50, besideP99 } = notify;
  const { publishedPerSecond, askedPerSecond } = notify;
  const ms = (value: number) => rounded(value, 3);
  const note = `p99 ${ms(aloneP99)} ms alone, ${ms(besideP99)} ms beside; p50 ${ms(aloneP50)} and ${ms(besideP50)} ms`;
  return [
    { what: "notify.perSecond", value: perSecond, unit: "1/s", target: atMost(MAX_NOTIFIES), note: "" },
    { what: "notify.ratio", value: ratio, unit: "times", target: atMost(MAX_NOTIFY_RATIO), note },
    {
      what: "notify.publishedPerSecond",
      value: publishedPerSecond,
      unit: "1/s",
      target: atLeast(askedPerSecond * REACHED_PART),
      note: `the load of the two above, ${askedPerSecond} asked for`,
    },
  ];
}

function growthLines({ cases, ...ratios }: VitessGrowthFigures): Line[] {
  const line = (kind: keyof typeof ratios, large: ReceiveCost, small: ReceiveCost): Line => ({
    what: `growth.${kind}`,
    value: ratios[kind],
    unit: "times",
    target: atMost(MAX_GROWTH),
    note:
      `${receiveText(large)} against ${receiveText(small)}; mean with reading ahead ` +
      `${rounded(large.meanRowsRead, 3)} + ${rounded(large.meanStatements, 3)} against ` +
      `${rounded(small.meanRowsRead, 3)} + ${rounded(small.meanStatements, 3)}`,
  });
  return [
    line("backlog", cases.largeBacklog, cases.smallBacklog),
    line("partitions", cases.manyPartitions, cases.fewPartitions),
    line("retained", cases.manyRetained, cases.fewRetained),
  ];
}

function receiveText({ rowsRead, statements }: ReceiveCost): string {
  return `${rowsRead} rows + ${statements} statements`;
}
