import type { EndToEndFigures } from "./phases/end-to-end.ts";
import type { GrowthFigures } from "./phases/growth.ts";
import type { LatencyFigures } from "./phases/latency.ts";
import type { NeighbourFigures } from "./phases/neighbour.ts";
import type { PublishFigures } from "./phases/publish.ts";
import type { RowFigures } from "./phases/rows.ts";
import type { SplitFigures } from "./phases/split.ts";
import { rounded } from "./statistics.ts";

/** What each phase found; a phase that was not asked for is absent. */
export interface Figures {
  publish?: PublishFigures;
  endToEnd?: EndToEndFigures;
  latency?: LatencyFigures;
  rows?: RowFigures;
  growth?: GrowthFigures;
  neighbour?: NeighbourFigures;
  split?: SplitFigures;
}

const DIGITS = 4;

/** One figure of the table, and what it is to reach. */
export interface Line {
  what: string;
  value: number;
  unit: string;
  target: { kind: "at least" | "at most"; value: number } | null;
  /** What else belongs to it. */
  note: string;
}

const MIN_FLOOR_PART = 0.6;
const MIN_END_TO_END = 10_000;
const MAX_P99_MS = 30;
const MAX_ROWS_READ = 6;
const MAX_ROWS_WRITTEN = 6;
const MAX_ROWS_WRITTEN_PER_FURTHER_GROUP = 2.5;
const MAX_GROWTH = 1.5;
const MAX_NEIGHBOUR = 1.5;
const MIN_SPLIT = 0.7;
const MAX_ROUTE_CHANGE_MS = 50;

export function linesOf(figures: Figures): Line[] {
  return [
    ...(figures.publish ? publishLines(figures.publish) : []),
    ...(figures.endToEnd ? endToEndLines(figures.endToEnd) : []),
    ...(figures.latency ? latencyLines(figures.latency) : []),
    ...(figures.rows ? rowLines(figures.rows) : []),
    ...(figures.growth ? growthLines(figures.growth) : []),
    ...(figures.neighbour ? neighbourLines(figures.neighbour) : []),
    ...(figures.split ? splitLines(figures.split) : []),
  ];
}

export function isMet({ value, target }: Line): boolean | null {
  if (target === null) return null;
  return target.kind === "at least" ? value >= target.value : value <= target.value;
}

function publishLines({ publish, floor }: PublishFigures): Line[] {
  return (["batch1", "batch10", "batch100"] as const).map((batch) => ({
    what: `publish.${batch}`,
    value: publish[batch],
    unit: "msg/s",
    target: { kind: "at least", value: MIN_FLOOR_PART * floor[batch] },
    note: `${rounded(publish[batch] / floor[batch], 2)} of floor.${batch} ${rounded(floor[batch], DIGITS)}`,
  }));
}

function endToEndLines({ rate, minBacklog, maxBacklog, redelivered }: EndToEndFigures): Line[] {
  const note = `backlog ${minBacklog} to ${maxBacklog}, ${redelivered} delivered again`;
  return [
    {
      what: "endToEnd",
      value: rate,
      unit: "msg/s",
      target: { kind: "at least", value: MIN_END_TO_END },
      note,
    },
  ];
}

function latencyLines({ p50, p99, max, samples, maxLateMs }: LatencyFigures): Line[] {
  const note = `max ${rounded(max, 3)} ms of ${samples}; sent at most ${rounded(maxLateMs, 2)} ms late`;
  return [
    { what: "latency.p50", value: p50, unit: "ms", target: null, note: "" },
    { what: "latency.p99", value: p99, unit: "ms", target: { kind: "at most", value: MAX_P99_MS }, note },
  ];
}

function rowLines(rows: RowFigures): Line[] {
  const { publish, deliver, collect } = rows.steps;
  const byStep = (kind: "read" | "written") =>
    `publish ${rounded(publish[kind], 3)}, deliver ${rounded(deliver[kind], 3)}, collect ${rounded(collect[kind], 3)}`;
  const atMost = (value: number) => ({ kind: "at most" as const, value });
  return [
    {
      what: "rows.read",
      value: rows.read,
      unit: "rows/msg",
      target: atMost(MAX_ROWS_READ),
      note: byStep("read"),
    },
    {
      what: "rows.written",
      value: rows.written,
      unit: "rows/msg",
      target: atMost(MAX_ROWS_WRITTEN),
      note: `${byStep("written")}; alarms set ${rounded(rows.alarmsSet, 2)}`,
    },
    {
      what: "rows.writtenPerFurtherGroup",
      value: rows.writtenPerFurtherGroup,
      unit: "rows/msg",
      target: atMost(MAX_ROWS_WRITTEN_PER_FURTHER_GROUP),
      note: `and ${rounded(rows.readPerFurtherGroup, 3)} read`,
    },
  ];
}

function growthLines(growth: GrowthFigures): Line[] {
  return (["backlog", "partitions", "retained"] as const).map((kind) => ({
    what: `growth.${kind}`,
    value: growth[kind],
    unit: "times",
    target: { kind: "at most", value: MAX_GROWTH },
    note: "",
  }));
}

function neighbourLines(neighbour: NeighbourFigures): Line[] {
  const { ratio, aloneP50, aloneP99, besideP50, besideP99, busyRate } = neighbour;
  const ms = (value: number) => rounded(value, 3);
  const note =
    `p99 ${ms(aloneP99)} ms alone, ${ms(besideP99)} ms beside ${rounded(busyRate, DIGITS)} msg/s; ` +
    `p50 ${ms(aloneP50)} and ${ms(besideP50)} ms`;
  return [
    {
      what: "neighbour.ratio",
      value: ratio,
      unit: "times",
      target: { kind: "at most", value: MAX_NEIGHBOUR },
      note,
    },
  ];
}

function splitLines(split: SplitFigures): Line[] {
  const { ratio, plainRate, splitRate, startMs, slowestStartMs, endMs, slowestEndMs } = split;
  const atMost = { kind: "at most" as const, value: MAX_ROUTE_CHANGE_MS };
  const rate = (value: number) => rounded(value, DIGITS);
  return [
    {
      what: "split.ratio",
      value: ratio,
      unit: "times",
      target: { kind: "at least", value: MIN_SPLIT },
      note: `${rate(splitRate)} msg/s with 20 routes, ${rate(plainRate)} without`,
    },
    {
      what: "split.start",
      value: startMs,
      unit: "ms",
      target: atMost,
      note: `slowest ${rounded(slowestStartMs, 3)}`,
    },
    {
      what: "split.end",
      value: endMs,
      unit: "ms",
      target: atMost,
      note: `slowest ${rounded(slowestEndMs, 3)}`,
    },
  ];
}

/** The figures as nested objects, by the names of the table. */
export function jsonOf(figures: Figures): Record<string, unknown> {
  const floors = figures.publish
    ? Object.entries(figures.publish.floor).map(([batch, value]) => ({ what: `floor.${batch}`, value }))
    : [];
  return nested([...linesOf(figures), ...floors]);
}

/** `a.b` becomes `{a: {b}}`. */
export function nested(values: readonly { what: string; value: number }[]): Record<string, unknown> {
  const json: Record<string, unknown> = {};
  for (const { what, value } of values) {
    const [group, name] = what.split(".") as [string, string | undefined];
    const figure = rounded(value, DIGITS);
    if (name === undefined) json[group] = figure;
    else json[group] = { ...(json[group] as Record<string, number> | undefined), [name]: figure };
  }
  return json;
}

export function tableOf(lines: readonly Line[]): string {
  const rows = lines.map((line) => {
    const met = isMet(line);
    return [
      line.what,
      `${rounded(line.value, DIGITS)} ${line.unit}`,
      line.target ? `${line.target.kind} ${rounded(line.target.value, DIGITS)}` : "",
      met === null ? "" : met ? "met" : "MISSED",
      line.note,
    ];
  });
  const all = [["figure", "measured", "target", "", "beside it"], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
