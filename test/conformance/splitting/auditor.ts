import type { Journal, Place } from "./journal.ts";
import type { Probe } from "./probe.ts";

export interface AuditOptions {
  /** Whether the life is over: then everything is handled, and nothing of it is left. */
  over: boolean;
  /** IDs that a stranger may have had. */
  lostToStrangers?: readonly string[];
}

interface Course {
  id: string;
  seededAt: number;
  stored: { place: Place; at: number }[];
  handled: { by: string; place: Place; at: number }[];
  /** Interruptions in which it was under way. */
  interrupted: number;
}

interface RouteLife {
  route: string;
  slot: number;
  wants: (id: string) => boolean;
  startingAt: number;
  inForceAt: number;
  endingAt: number;
  drainedAt: number;
}

/**
 * Everything that is wrong with a life, as sentences; empty when the promise was kept: no message lost, each in exactly
 * one shadow and with the right party, repeated only where a crash met it under way; every resource recorded before it
 * was made and forgotten after it was gone, nothing of a user's touched.
 */
export async function audit(
  probe: Probe,
  users: readonly string[],
  options: AuditOptions,
): Promise<string[]> {
  const { journal } = probe;
  const courses = coursesOf(journal);
  const routes = routesOf(journal);
  const still = new Set<string>();
  const places: Place[] = ["source", "application", ...new Set(routes.map(({ slot }) => slot))];
  for (const place of places) for (const { id } of await probe.waiting(place)) still.add(id);
  const strangers = new Set(options.lostToStrangers);
  return [
    ...courses.flatMap((course) => [
      ...lost(course, options.over ? new Set() : still, strangers),
      ...repeated(course, strangers),
      ...misplaced(course, routes),
    ]),
    ...seenThoughVoid(journal),
    ...inventory(journal),
    ...(await leftOver(probe, users, options.over)),
  ];
}

function coursesOf(journal: Journal): Course[] {
  const voided = new Set(journal.of("void").map(({ id }) => id));
  const courses = new Map<string, Course>();
  for (const { id, place, at } of journal.of("stored")) {
    if (voided.has(id)) continue;
    const course = courses.get(id) ?? { id, seededAt: at, stored: [], handled: [], interrupted: 0 };
    courses.set(id, course);
    course.stored.push({ place, at });
  }
  for (const { id, by, place, at } of journal.of("handled")) courses.get(id)?.handled.push({ by, place, at });
  for (const { underWay } of journal.of("crash")) {
    for (const id of underWay ?? courses.keys()) {
      const course = courses.get(id);
      if (course) course.interrupted++;
    }
  }
  return [...courses.values()];
}

function routesOf(journal: Journal): RouteLife[] {
  const first = (kind: "route in force" | "route ending" | "route drained", route: string, after: number) =>
    journal.of(kind).find((fact) => fact.route === route && fact.at > after)?.at ?? Number.POSITIVE_INFINITY;
  return journal.of("route starting").map(({ route, slot, wants, at }) => ({
    route,
    slot,
    wants,
    startingAt: at,
    inForceAt: first("route in force", route, at),
    endingAt: first("route ending", route, at),
    drainedAt: first("route drained", route, at),
  }));
}

function lost(course: Course, still: ReadonlySet<string>, strangers: ReadonlySet<string>): string[] {
  if (course.handled.length > 0 || still.has(course.id) || strangers.has(course.id)) return [];
  return [`${course.id} is lost: it was in ${course.stored.map(({ place }) => place).join(", ")}`];
}

function repeated({ id, stored, handled, interrupted }: Course, strangers: ReadonlySet<string>): string[] {
  const wrong: string[] = [];
  const allowed = 1 + interrupted;
  if (handled.length > allowed) {
    const by = handled.map((each) => each.by).join(", ");
    wrong.push(
      `${id} was handled ${handled.length} times, by ${by}, and under way in ${interrupted} crashes`,
    );
  }
  const shadows = new Set(stored.map(({ place }) => place).filter((place) => place !== "source"));
  for (const place of shadows) {
    const times = stored.filter((each) => each.place === place).length;
    if (times > allowed && !strangers.has(id)) wrong.push(`${id} came ${times} times into ${place}`);
  }
  return wrong;
}

/** By the table in force: a route's message nowhere else, and one shadow in all but for the rest of an ended route. */
function misplaced({ id, seededAt, stored }: Course, routes: readonly RouteLife[]): string[] {
  const wrong: string[] = [];
  let moveableFrom = Number.POSITIVE_INFINITY;
  let before: Place | null = null;
  for (const { place, at } of stored) {
    if (place === "source") continue;
    if (place === "application") {
      const owner = routes.find(
        (route) => route.wants(id) && route.inForceAt < seededAt && route.endingAt > at,
      );
      if (owner) wrong.push(`${id} belongs to ${owner.route} and came to the application`);
      if (before !== null && before !== "application" && at < moveableFrom) {
        wrong.push(`${id} is in two shadows: ${before} and the application's`);
      }
    } else {
      const owner = routes.find(
        (route) => route.slot === place && route.wants(id) && route.startingAt < at && route.drainedAt > at,
      );
      if (!owner) wrong.push(`${id} came to slot ${place}, where nobody wants it`);
      if (before !== null && before !== place) wrong.push(`${id} is in two shadows: ${before} and ${place}`);
      moveableFrom = Math.min(moveableFrom, owner?.endingAt ?? moveableFrom);
    }
    before = place;
  }
  return wrong;
}

function seenThoughVoid(journal: Journal): string[] {
  const voided = new Set(journal.of("void").map(({ id }) => id));
  const seen = [...journal.of("stored"), ...journal.of("handled")].filter(({ id }) => voided.has(id));
  return seen.map(({ id, place }) => `${id} was aborted and is in ${place}`);
}

/** Recorded before it is made; gone before it is forgotten. */
function inventory(journal: Journal): string[] {
  const wrong: string[] = [];
  const recorded = new Set<string>();
  const there = new Set<string>();
  for (const fact of journal.facts) {
    if (fact.kind === "recorded") recorded.add(fact.name);
    if (fact.kind === "deleted") there.delete(fact.name);
    if (fact.kind === "created") {
      there.add(fact.name);
      if (!recorded.has(fact.name)) wrong.push(`${fact.name} was made and is not recorded`);
    }
    if (fact.kind === "forgotten") {
      recorded.delete(fact.name);
      if (there.has(fact.name)) wrong.push(`${fact.name} was forgotten and is still there`);
    }
  }
  return wrong;
}

async function leftOver(probe: Probe, users: readonly string[], over: boolean): Promise<string[]> {
  const now = await probe.exists();
  const gone = users.filter((name) => !now.includes(name)).map((name) => `a user's ${name} is gone`);
  const recorded = new Set(probe.journal.of("recorded").map(({ name }) => name));
  const ours = now.filter((name) => !users.includes(name));
  const left = ours.filter((name) => over || !recorded.has(name)).map((name) => `${name} is left over`);
  return [...gone, ...left];
}
