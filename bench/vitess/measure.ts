import type { MariaDb } from "../../test/vitess/mariadb.ts";
import type { VitessPhase } from "../options.ts";
import { runFlow } from "../phases/end-to-end.ts";
import { measureDelays } from "../phases/latency.ts";
import type { VitessFigures } from "./figures.ts";
import { measureVitessGrowth } from "./growth.ts";
import { measureLife, measureSingles } from "./life.ts";
import { measureNotify } from "./notify.ts";
import { type VitessPlace, withMariaDb, withPlace, withServedPlace } from "./place.ts";
import { measureVitessPublish } from "./publish.ts";
import type { VitessSizes } from "./sizes.ts";

type Progress = (line: string) => void;

export interface Measured {
  figures: VitessFigures;
  /** Phases that could not be measured, in order; each was told by a line of progress. */
  failed: VitessPhase[];
}

/** Growth comes last: what becomes of its large tables would disturb others. */
const ORDER: readonly VitessPhase[] = [
  "latency",
  "notify",
  "publish",
  "endToEnd",
  "life",
  "singles",
  "growth",
];

/** One MariaDB for all phases, and a database, a gateway and a server of its own for each. A failed phase ends no other. */
export async function measureVitess(
  only: ReadonlySet<VitessPhase>,
  sizes: VitessSizes,
  progress: Progress,
): Promise<Measured> {
  const measured: Measured = { figures: {}, failed: [] };
  await withMariaDb(async (mariaDb) => {
    for (const phase of ORDER) {
      if (!only.has(phase)) continue;
      try {
        await measurePhase(phase, mariaDb, sizes, measured.figures, progress);
        progress(`${phase}: measured`);
      } catch (error) {
        measured.failed.push(phase);
        progress(`${phase} FAILED: ${error instanceof Error ? error.stack : error}`);
      }
    }
  });
  return measured;
}

async function measurePhase(
  phase: VitessPhase,
  mariaDb: MariaDb,
  sizes: VitessSizes,
  figures: VitessFigures,
  progress: Progress,
): Promise<void> {
  let databases = 0;
  const inPlace = <T>(use: (place: VitessPlace) => Promise<T>): Promise<T> => {
    databases += 1;
    return withPlace(mariaDb, `bench_${phase.toLowerCase()}_${databases}`, use);
  };
  switch (phase) {
    case "life":
      figures.life = await inPlace((place) => measureLife(place, sizes.life.messages));
      break;
    case "singles":
      figures.singles = await inPlace((place) => measureSingles(place, sizes.singles));
      break;
    case "publish":
      figures.publish = await inPlace((place) => measureVitessPublish(place, sizes.publish));
      break;
    case "endToEnd":
      figures.endToEnd = await inPlace((place) => measureFlow(place, sizes.endToEnd));
      break;
    case "latency":
      figures.latency = await inPlace((place) =>
        withServedPlace(place, {}, (served) => measureDelays(served, sizes.latency)),
      );
      break;
    case "notify":
      figures.notify = await inPlace((place) => measureNotify(place, sizes.notify));
      break;
    case "growth":
      figures.growth = await measureVitessGrowth(inPlace, sizes.growth, progress);
      break;
  }
}

async function measureFlow(
  place: VitessPlace,
  size: { windowMs: number },
): Promise<Required<VitessFigures>["endToEnd"]> {
  return withServedPlace(place, {}, async (served) => {
    const before = await place.gateway.stats();
    const { figures, settled } = await runFlow(served, size);
    const { statements } = await place.gateway.stats();
    return { ...figures, statements: (statements - before.statements) / settled };
  });
}
