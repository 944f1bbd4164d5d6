import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { exactTime, formatCount, formatDuration } from "./format.ts";
import type { Point } from "./history.ts";

type Measure = "backlog" | "oldestAgeMs";

interface Props {
  /** What is plotted of whom. */
  label: string;
  points: readonly Point[];
  measure: Measure;
  size: "small" | "large";
}

const HEIGHTS_PX = { small: 30, large: 132 } as const;
/** A page that was just opened shows its first minute, and not a single dot stretched over the whole width. */
const MIN_SPAN_SECONDS = 60;
const FONT = "11px system-ui, sans-serif";

/** 1, 2, 5, 10, … : there is no half message. */
const WHOLE_STEPS = Array.from({ length: 15 }, (_, i) => [1, 2, 5].map((digit) => digit * 10 ** i)).flat();
const SECONDS_OF_STEPS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200,
];
const DAY_SECONDS = 86_400;
const DURATION_STEPS_MS = [
  ...SECONDS_OF_STEPS,
  ...WHOLE_STEPS.slice(0, 12).map((days) => days * DAY_SECONDS),
].map((seconds) => seconds * 1000);

/** One measure of a group over what the page has seen. Its last value, or the one pointed at, is said above it. */
export function Plot({ label, points, measure, size }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [pointedAt, setPointedAt] = useState<number | null>(null);
  const data = dataOf(points, measure);
  const length = points.length;
  const lastMs = points.at(-1)?.atMs;

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const made = new uPlot(optionsOf(measure, size, element.clientWidth, setPointedAt), data, element);
    plot.current = made;
    const resized = new ResizeObserver(() => {
      if (element.clientWidth !== made.width)
        made.setSize({ width: element.clientWidth, height: HEIGHTS_PX[size] });
    });
    resized.observe(element);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const recolour = () => made.redraw(false, true);
    scheme.addEventListener("change", recolour);
    return () => {
      scheme.removeEventListener("change", recolour);
      resized.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [measure, size]);

  // By what identifies the points: the list itself is the history's own and changes in place.
  useEffect(() => plot.current?.setData(data), [label, length, lastMs]);

  const point = (pointedAt === null ? undefined : points[pointedAt]) ?? points.at(-1);
  return (
    <figure class={`plot ${size}`} role="img" aria-label={describe(label, points, measure)}>
      {size === "large" && (
        <figcaption aria-hidden="true">
          <span>{measure === "backlog" ? "Backlog" : "Oldest age"}</span>
          {point !== undefined && (
            <span>
              <strong>{valueText(point[measure], measure)}</strong>
              {pointedAt !== null && <span class="quiet"> {exactTime(point.atMs).slice(11, 19)}</span>}
            </span>
          )}
        </figcaption>
      )}
      <div class="plot-box" ref={box} aria-hidden="true" />
    </figure>
  );
}

function dataOf(points: readonly Point[], measure: Measure): uPlot.AlignedData {
  return [points.map(({ atMs }) => atMs / 1000), points.map((point) => point[measure])];
}

function valueText(value: number, measure: Measure): string {
  return measure === "backlog" ? formatCount(value) : formatDuration(value);
}

function describe(label: string, points: readonly Point[], measure: Measure): string {
  const first = points[0];
  const last = points.at(-1);
  if (first === undefined || last === undefined) return `${label}: nothing seen yet`;
  const most = points.reduce((max, point) => Math.max(max, point[measure]), 0);
  const spanText = formatDuration(last.atMs - first.atMs);
  return `${label}: ${valueText(last[measure], measure)}, at most ${valueText(most, measure)} in the last ${spanText}`;
}

function optionsOf(
  measure: Measure,
  size: "small" | "large",
  width: number,
  onPoint: (index: number | null) => void,
): uPlot.Options {
  const colour = measure === "backlog" ? "--plot-depth" : "--plot-age";
  const isLarge = size === "large";
  return {
    width: Math.max(1, width),
    height: HEIGHTS_PX[size],
    legend: { show: false },
    padding: isLarge ? [6, 24, 0, 0] : [3, 5, 3, 2],
    cursor: isLarge
      ? { sync: { key: "time" }, drag: { x: false, y: false }, y: false, points: { size: 6 } }
      : { show: false },
    hooks: { setCursor: [(self) => onPoint(self.cursor.idx ?? null)] },
    scales: { x: { time: true, range: spanOf }, y: { range: (_self, _min, max) => [0, roof(max, measure)] } },
    axes: isLarge ? axesOf(measure) : [{ show: false }, { show: false }],
    series: [
      {},
      {
        stroke: () => colourOf(colour),
        fill: () => colourOf(`${colour}-fill`),
        width: isLarge ? 1.5 : 1.25,
        points: { show: (self) => self.data[0].length === 1, size: 5 },
      },
    ],
  };
}

function axesOf(measure: Measure): uPlot.Axis[] {
  const shared: uPlot.Axis = {
    stroke: () => colourOf("--muted"),
    grid: { stroke: () => colourOf("--grid"), width: 1 },
    ticks: { show: false },
    font: FONT,
  };
  return [
    { ...shared, size: 20, gap: 4, space: 70, values: "{HH}:{mm}:{ss}", grid: { show: false } },
    {
      ...shared,
      size: 52,
      gap: 6,
      space: 34,
      incrs: measure === "backlog" ? WHOLE_STEPS : DURATION_STEPS_MS,
      values: (_self, splits) => splits.map((split) => axisText(split, measure)),
    },
  ];
}

/** Short: "12k", "3 min". */
function axisText(value: number, measure: Measure): string {
  if (measure === "oldestAgeMs") return formatDuration(value).split(" ").slice(0, 2).join(" ");
  return value >= 10_000 ? `${formatCount(value / 1000)}k` : formatCount(value);
}

/** By the points themselves: of a single one uPlot makes the first of a whole day. */
function spanOf({ data }: uPlot): uPlot.Range.MinMax {
  const end = data[0].at(-1) ?? Date.now() / 1000;
  return [Math.min(data[0][0] ?? end, end - MIN_SPAN_SECONDS), end];
}

/** A quiet group is a line at the bottom, not one in the middle of nothing. */
function roof(max: number | null, measure: Measure): number {
  return Math.max((max ?? 0) * 1.1, measure === "backlog" ? 4 : 10_000);
}

function colourOf(property: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(property).trim();
}
