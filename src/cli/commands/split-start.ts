import type { Command } from "commander";
import type { Filter, Route } from "../../client/fairlane.ts";
import { DEFAULT_ROUTE_TTL_MS, MAX_ROUTE_TTL_MS, MIN_ROUTE_TTL_MS } from "../../core/limits.ts";
import { filterText } from "../../splitting/filter/format-filter.ts";
import type { Cli } from "../cli.ts";
import { CliError, ProgramEnded, usageError } from "../cli-error.ts";
import { durationFlag, durationText } from "../durations.ts";
import { EXIT } from "../exit-codes.ts";
import { isNotFound, noteNewGroup } from "../group-check.ts";
import { runProgram } from "../kept-program.ts";
import { KeptRoute, type RoutePlace, type RouteState } from "../kept-route.ts";
import { OutputClosed } from "../output.ts";
import { type FilterFlags, filterOf } from "../route-filter.ts";
import { countsLine, endedLine, filterShown } from "../route-text.ts";
import type { Run } from "../run.ts";
import { momentText } from "../times.ts";

/** Nobody renews it: long enough to attach something. */
const DETACHED_TTL_MS = 600_000;

interface Flags extends Omit<FilterFlags, "parts"> {
  ttl?: number;
  run?: string;
  detach?: boolean;
  replace?: boolean;
}

/** Lends the messages that match a filter to whoever attaches, while it runs. */
export function splitStart(cli: Cli): Command {
  return cli
    .command("start <topic> <group> <route> [filter...]", {
      summary: "start a route: messages that match go to its subscribers alone",
      about:
        "A filter is conditions that must all hold: name=value (a header), name=a|b, name^=beginning, name~=expression for " +
        'the whole value, name or !name (it is there, or is not), baggage:member=value, key=value. Texts with a space, a comma or a " in them ' +
        'stand in double quotes. The JSON form says more: {"any": […]}, {"not": …}. Two routes of a group may not take the same message.\n\n' +
        "The route lives while this runs, and Ctrl-C ends it: what it has not settled goes back to the application. A run that " +
        "is killed gives it back when --ttl is over. With --run a program runs meanwhile, with FAIRLANE_URL, FAIRLANE_TENANT, " +
        "FAIRLANE_TOPIC, FAIRLANE_GROUP and FAIRLANE_ROUTE in its environment: it gets the signals of this run, and its end ends " +
        "the route, with its exit code. With --json a line tells of each change: {event, route, application}.",
      examples: [
        ["split start orders billing alice x-dev=alice", "alice's messages wait for alice, until Ctrl-C"],
        [
          "split start orders billing alice x-dev=alice --run 'npm run dev'",
          "for as long as her program runs",
        ],
        ["consume orders --group billing --route alice", "attaches to it, in another terminal"],
        ["split start orders billing big 'x-user^=a, !x-internal' --ttl 1h --detach", "for an hour"],
        [
          `split start orders billing bob '{"any": [{"header": "x-dev", "equals": "bob"}, {"key": {"prefix": "bob-"}}]}'`,
          "as JSON",
        ],
      ],
    })
    .option("--all", "every message of the group, in place of a filter")
    .option("--filter-file <path>", "the filter is in this file, - for stdin")
    .option(
      "--ttl <duration>",
      "it ends when nothing renewed it for so long: 30s, with --detach 10m",
      ttlFlag,
    )
    .option("--run <command>", "run this by the shell, and end the route when it ends")
    .option("--detach", "start it and return; its subscribers renew it, or: fairlane split renew")
    .option("--replace", "also where the route is there with another filter")
    .action(
      cli.endingAction<Flags>(async (run, [topic = "", group = "", route = "", ...parts], flags) => {
        if (flags.run !== undefined && flags.detach)
          throw usageError("--run and --detach do not go together");
        const filter = await filterOf(run, { parts, all: flags.all, filterFile: flags.filterFile });
        run.route = route;
        const place = { topic, group, route };
        await noteNewGroup(run, run.fairlane, topic, group);
        await checkFree(run, place, filter, flags.replace === true);
        const ttlMs = flags.ttl ?? (flags.detach ? DETACHED_TTL_MS : DEFAULT_ROUTE_TTL_MS);
        if (flags.detach) return startDetached(run, place, { filter, ttlMs });
        run.signal.throwIfAborted();
        await new Splitting(run, place, await KeptRoute.start(run, place, { filter, ttlMs })).run(flags.run);
      }),
    );
}

export function ttlFlag(text: string): number {
  const ms = durationFlag(text);
  if (ms >= MIN_ROUTE_TTL_MS && ms <= MAX_ROUTE_TTL_MS) return ms;
  throw usageError(
    `--ttl must be from ${durationText(MIN_ROUTE_TTL_MS)} to ${durationText(MAX_ROUTE_TTL_MS)}`,
  );
}

/** A route of the same name is most likely somebody's, and replacing its filter takes the messages from them. */
async function checkFree(run: Run, { topic, group, route }: RoutePlace, filter: Filter, replace: boolean) {
  let there: Route;
  try {
    there = await run.fairlane.admin.getRoute(topic, group, route);
  } catch (error) {
    if (isNotFound(error)) return;
    throw error;
  }
  if (filterText(there.filter) === filterText(filter)) {
    run.out.note(`route ${route} is there already, with this filter: it goes on`);
  } else if (!replace) {
    throw new CliError(
      `route ${route} is there already, with another filter: ${filterShown(there.filter)}`,
      EXIT.failed,
      "choose another name, or give it this filter with --replace",
    );
  }
}

async function startDetached(run: Run, place: RoutePlace, request: { filter: Filter; ttlMs: number }) {
  const { topic, group, route } = place;
  const started = await run.fairlane.admin.putRoute(topic, group, route, request);
  await run.out.done(started, `route ${route} started: ${filterShown(started.filter)}`);
  run.out.note(
    `it ends ${momentText(run.nowMs + started.ttlMs, run.nowMs)}, unless its subscribers renew it, or: ` +
      `fairlane split renew ${topic} ${group} ${route}`,
  );
}

/** One route while it is kept: tells where messages went, and ends it. */
class Splitting {
  readonly #run: Run;
  readonly #place: RoutePlace;
  readonly #kept: KeptRoute;

  constructor(run: Run, place: RoutePlace, kept: KeptRoute) {
    this.#run = run;
    this.#place = place;
    this.#kept = kept;
  }

  async run(command: string | undefined): Promise<void> {
    const { signal } = this.#run;
    let exitCode: number | null = null;
    try {
      await this.#tellStart(command);
      if (command === undefined) await this.#kept.keep(signal, (state) => this.#tellCounts(state, false));
      else exitCode = await this.#runWith(command);
    } catch (error) {
      await this.#end(command !== undefined);
      // Nobody reads on: it ends like any other.
      if (error instanceof OutputClosed) return;
      throw error;
    }
    await this.#end(command !== undefined);
    if (exitCode !== null && exitCode !== EXIT.done) throw new ProgramEnded(exitCode);
    if (exitCode === null) signal.throwIfAborted();
  }

  /** The route is kept while the program runs, whatever happens to this run's own way to the server. */
  async #runWith(command: string): Promise<number> {
    const { run, place } = { run: this.#run, place: this.#place };
    const { url, tenant } = run.target;
    const ended = new AbortController();
    const keeping = this.#kept
      .keep(ended.signal, (state) => this.#tellCounts(state, true), { regardless: true })
      .catch((error: unknown) => {
        if (!(error instanceof OutputClosed))
          run.out.warn(error instanceof Error ? error.message : String(error));
      });
    try {
      return await runProgram(run, command, {
        FAIRLANE_URL: url,
        FAIRLANE_TENANT: tenant,
        FAIRLANE_TOPIC: place.topic,
        FAIRLANE_GROUP: place.group,
        FAIRLANE_ROUTE: place.route,
      });
    } finally {
      ended.abort();
      await keeping;
    }
  }

  async #tellStart(command: string | undefined): Promise<void> {
    const { out, target, shell } = this.#run;
    const { topic, group, route } = this.#place;
    const { filter } = this.#kept.state.route;
    if (out.json) await this.#document("started", this.#kept.state);
    out.note(`route ${route} of group ${group} in ${topic} started: ${filterShown(filter)}`);
    if (command === undefined) {
      out.note(
        `attach to it with: fairlane consume ${topic} --group ${group} --route ${route}; Ctrl-C ends it`,
      );
    } else if (target.token !== null && target.token !== shell.env.FAIRLANE_TOKEN) {
      out.note(
        `the program gets no token: this one is from ${target.tokenFrom}, and FAIRLANE_TOKEN is not set to it`,
      );
    }
  }

  /** With a program, stdout is the program's. */
  async #tellCounts(state: RouteState, hasProgram: boolean): Promise<void> {
    const { out, shell } = this.#run;
    if (out.json) return this.#document("counts", state);
    const line = countsLine(state.route, state.application);
    if (hasProgram) out.note(line);
    else if (shell.stderr.isTTY) out.progress(line);
    else if (!out.quiet) await out.write(`${line}\n`);
  }

  async #end(hasProgram: boolean): Promise<void> {
    const { out } = this.#run;
    const state = await this.#kept.end().catch((error: unknown) => this.#warnOfExpiry(error));
    if (state === null || out.closed.aborted) return;
    const { route, application } = state;
    if (out.json) await this.#document("ended", state, { wentBack: route.backlog });
    else if (hasProgram) out.note(endedLine(route, application));
    else await out.write(`${endedLine(route, application)}\n`);
  }

  #warnOfExpiry(error: unknown): null {
    const { route, ttlMs } = this.#kept.state.route;
    const why = error instanceof Error ? error.message : String(error);
    this.#run.out.warn(
      `route ${route} could not be ended (${why}): it ends by itself within ${durationText(ttlMs)}`,
    );
    return null;
  }

  async #document(event: string, { route, application }: RouteState, more: object = {}): Promise<void> {
    await this.#run.out.document(JSON.stringify({ event, route, application, ...more }));
  }
}
