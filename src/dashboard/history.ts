/** How deep a group was at one moment, as a snapshot of the server said. */
export interface Point {
  /** By the server's clock. */
  atMs: number;
  backlog: number;
  oldestAgeMs: number;
}

export const HISTORY_MS = 15 * 60_000;
/** More groups than a page shows at once; in all less text than the 5 MB that a tab's storage holds. */
export const MAX_SERIES = 200;
/** Snapshots that are nearer to each other tell nothing more: at most 600 points a series. */
export const MIN_STEP_MS = 1500;
/** A series that got nothing for so long is not on the page any more. */
const STALE_MS = 60_000;

type Key = string;

/**
 * What the page saw of each group since it was opened: at most the last 15 minutes, and at most so many groups. The
 * server keeps no such history.
 */
export class History {
  private readonly series = new Map<Key, Point[]>();

  /** `chosen`: where there is no room, it takes that of another one. */
  add(topic: string, group: string, point: Point, chosen = false): void {
    const key = keyOf(topic, group);
    let points = this.series.get(key);
    if (points === undefined) {
      if (!this.makeRoom(topic, point.atMs, chosen)) return;
      points = [];
      this.series.set(key, points);
    }
    const last = points.at(-1);
    if (last !== undefined && point.atMs - last.atMs < MIN_STEP_MS) return;
    points.push(point);
    const fromMs = point.atMs - HISTORY_MS;
    const firstKept = points.findIndex(({ atMs }) => atMs >= fromMs);
    if (firstKept > 0) points.splice(0, firstKept);
  }

  of(topic: string, group: string): readonly Point[] {
    return this.series.get(keyOf(topic, group)) ?? [];
  }

  get size(): number {
    return this.series.size;
  }

  /** Times as steps from the one before: a third of the length. */
  toText(): string {
    const rows = [...this.series].map(([key, points]) => {
      let beforeMs = 0;
      const values = points.flatMap(({ atMs, backlog, oldestAgeMs }) => {
        const stepMs = atMs - beforeMs;
        beforeMs = atMs;
        return [stepMs, backlog, oldestAgeMs];
      });
      return [key, values];
    });
    return JSON.stringify(rows);
  }

  /** What a tab kept; nothing where it is not readable. */
  static fromText(text: string | null, nowMs: number): History {
    const history = new History();
    for (const [topic, group, points] of rowsOf(text)) {
      for (const point of points) if (point.atMs >= nowMs - HISTORY_MS) history.add(topic, group, point);
    }
    return history;
  }

  private makeRoom(topic: string, nowMs: number, chosen: boolean): boolean {
    if (this.series.size < MAX_SERIES) return true;
    const others = [...this.series].filter(([key]) => !key.startsWith(`${topic} `));
    const old = others.find(([, points]) => nowMs - (points.at(-1)?.atMs ?? 0) > STALE_MS);
    const victim = old ?? (chosen ? others[0] : undefined);
    if (victim === undefined) return false;
    this.series.delete(victim[0]);
    return true;
  }
}

/** Names of topics and groups have no space. */
function keyOf(topic: string, group: string): Key {
  return `${topic} ${group}`;
}

function rowsOf(text: string | null): [topic: string, group: string, Point[]][] {
  let rows: unknown;
  try {
    rows = JSON.parse(text ?? "[]");
  } catch {
    // Somebody else wrote it: the page starts without a past.
    return [];
  }
  if (!Array.isArray(rows)) return [];
  return rows.slice(0, MAX_SERIES).flatMap((row: unknown): [string, string, Point[]][] => {
    if (!Array.isArray(row) || typeof row[0] !== "string" || !Array.isArray(row[1])) return [];
    const [topic, group] = row[0].split(" ");
    return topic && group ? [[topic, group, pointsOf(row[1])]] : [];
  });
}

function pointsOf(values: readonly unknown[]): Point[] {
  const points: Point[] = [];
  let atMs = 0;
  for (let i = 0; i + 2 < values.length; i += 3) {
    const [stepMs, backlog, oldestAgeMs] = values.slice(i, i + 3);
    if (!isCount(stepMs) || !isCount(backlog) || !isCount(oldestAgeMs)) return [];
    atMs += stepMs;
    points.push({ atMs, backlog, oldestAgeMs });
  }
  return points;
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
