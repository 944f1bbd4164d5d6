import { mayPass } from "../client/backoff.ts";
import type { Fairlane, Filter, LaneCounts, Route, RouteList } from "../client/fairlane.ts";
import { pause, platformSurroundings } from "../client/surroundings.ts";
import { filterText } from "../splitting/filter/format-filter.ts";
import { CliError } from "./cli-error.ts";
import { EXIT } from "./exit-codes.ts";
import { isNotFound } from "./group-check.ts";
import { filterShown } from "./route-text.ts";
import type { Run } from "./run.ts";

/** A look counts what is unsettled: not more often than anybody reads it. */
const LOOK_MS = 3000;
const LOOK_PART = 1 / 6;
const RENEW_PART = 1 / 3;
const END_RETRY_MS = 3000;
const NOTHING: LaneCounts = { delivered: 0, backlog: 0, inFlight: 0, subscribers: 0 };

export interface RoutePlace {
  topic: string;
  group: string;
  route: string;
}

export interface RouteState {
  route: Route;
  application: LaneCounts;
}

/**
 * A route that lives while a run does.
 *
 *   kept     renewed after each third of its time; started again where it is gone, whoever ended it
 *   taken    somebody gave it another filter: it is theirs, and is neither renewed nor ended
 *   ended    by this run; what it had not settled went back
 *
 * If the process dies, it expires.
 */
export class KeptRoute {
  readonly #run: Run;
  readonly #place: RoutePlace;
  readonly #request: { filter: Filter; ttlMs: number };
  /** Tries nothing again by itself: the next look does. */
  readonly #once: Fairlane;
  #renewAtMs = 0;
  #isTaken = false;
  #trouble: string | null = null;
  /** As it was seen last. */
  state: RouteState;

  private constructor(run: Run, place: RoutePlace, route: Route) {
    const { filter, ttlMs } = route;
    this.#run = run;
    this.#place = place;
    this.#request = { filter, ttlMs };
    this.#once = run.connect(0);
    this.#renewAtMs = performance.now() + ttlMs * RENEW_PART;
    this.state = { route, application: NOTHING };
  }

  static async start(run: Run, place: RoutePlace, request: { filter: Filter; ttlMs: number }) {
    const { topic, group, route } = place;
    return new KeptRoute(run, place, await run.fairlane.admin.putRoute(topic, group, route, request));
  }

  /**
   * Keeps it until the signal aborts, and tells of each change of its numbers. Rejects with what does not pass; with
   * `regardless` that is warned of, and only a route that was taken ends it.
   */
  async keep(
    signal: AbortSignal,
    onChange: (state: RouteState) => Promise<void>,
    { regardless = false }: { regardless?: boolean } = {},
  ): Promise<void> {
    const lookMs = Math.min(LOOK_MS, this.#request.ttlMs * LOOK_PART);
    let shown = "";
    for (;;) {
      try {
        await this.#look(signal);
        this.#trouble = null;
      } catch (error) {
        if (signal.aborted) return;
        if (this.#isTaken || !(regardless || mayPass(error))) throw error;
        this.#warn(error);
      }
      const numbers = JSON.stringify([countsOf(this.state.route), countsOf(this.state.application)]);
      if (numbers !== shown) await onChange(this.state);
      shown = numbers;
      await pause(lookMs, platformSurroundings.after, signal).catch(() => {
        // Aborted: told below.
      });
      if (signal.aborted) return;
    }
  }

  /** Answers how it was at its end; null: it was not this run's to end any more. */
  async end(): Promise<RouteState | null> {
    if (this.#isTaken) return null;
    const { topic, group, route } = this.#place;
    const { admin } = this.#run.connect(END_RETRY_MS);
    try {
      this.#read(await admin.listRoutes(topic, group));
      if (this.#isTaken) return null;
      await admin.deleteRoute(topic, group, route);
    } catch (error) {
      // It may have been ended by somebody else a moment ago.
      if (!isNotFound(error)) throw error;
    }
    return this.state;
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { topic, group, route } = this.#place;
    const { admin } = this.#once;
    const isThere = this.#read(await this.#routes(signal));
    if (isThere && performance.now() < this.#renewAtMs) return;
    const sentAtMs = performance.now();
    // Without the signal: one that is under way would start the route anew behind its end.
    const renewed = await admin.putRoute(topic, group, route, this.#request);
    this.#renewAtMs = sentAtMs + this.#request.ttlMs * RENEW_PART;
    this.state = { ...this.state, route: renewed };
    if (!isThere)
      this.#run.out.warn(`route ${route} was gone: the server lost it, or it was ended; started again`);
  }

  async #routes(signal: AbortSignal): Promise<RouteList> {
    const { topic, group } = this.#place;
    try {
      return await this.#once.admin.listRoutes(topic, group, { signal });
    } catch (error) {
      if (isNotFound(error)) return { routes: [], application: NOTHING };
      throw error;
    }
  }

  /** Whether it is there. Throws where it is somebody else's. */
  #read({ routes, application }: RouteList): boolean {
    const { route: name } = this.#place;
    const route = routes.find((one) => one.route === name);
    if (route === undefined) return false;
    if (filterText(route.filter) !== filterText(this.#request.filter)) {
      this.#isTaken = true;
      throw new CliError(
        `somebody gave route ${name} another filter: ${filterShown(route.filter)}; it is theirs now`,
        EXIT.failed,
        "choose another name",
      );
    }
    this.state = { route, application };
    return true;
  }

  #warn(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    if (message !== this.#trouble)
      this.#run.out.warn(`the route could not be renewed: ${message}; trying again`);
    this.#trouble = message;
  }
}

function countsOf({ delivered, backlog, inFlight, subscribers }: LaneCounts): number[] {
  return [delivered, backlog, inFlight, subscribers];
}
