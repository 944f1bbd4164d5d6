/** What is measured of each log. */
export const PHASES = {
  object: ["publish", "endToEnd", "latency", "rows", "growth", "neighbour", "split"],
  vitess: ["life", "singles", "publish", "endToEnd", "latency", "notify", "growth"],
} as const;
export type Phase = (typeof PHASES)["object"][number];
export type VitessPhase = (typeof PHASES)["vitess"][number];

interface CommonOptions {
  /** End with one line of JSON, alone on stdout. */
  json: boolean;
  /** Short windows and small backlogs: whether it works, not how fast. */
  quick: boolean;
}

export interface ObjectOptions extends CommonOptions {
  log: "object";
  only: ReadonlySet<Phase>;
}

export interface VitessOptions extends CommonOptions {
  log: "vitess";
  /** Growth up to a million of each, as the targets say. */
  full: boolean;
  only: ReadonlySet<VitessPhase>;
}

export type Options = ObjectOptions | VitessOptions;

/** What the command line got wrong, as a line for people. */
export class UsageError extends Error {
  override name = "UsageError";
}

export const USAGE = `usage: npm run bench -- [--json] [--quick] [--only ${PHASES.object.join(",")}]
       npm run bench -- --log vitess [--json] [--quick | --full] [--only ${PHASES.vitess.join(",")}]`;

export function parseOptions(args: readonly string[]): Options {
  const flags = { json: false, quick: false, full: false };
  let log: keyof typeof PHASES = "object";
  let only: string | null = null;
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const [name, value] = arg.split("=", 2) as [string, string | undefined];
    if (name === "--only") only = value ?? rest.shift() ?? "";
    else if (name === "--log") log = parseLog(value ?? rest.shift() ?? "");
    else if (arg === "--json") flags.json = true;
    else if (arg === "--quick") flags.quick = true;
    else if (arg === "--full") flags.full = true;
    else throw new UsageError(`unknown option ${arg}\n${USAGE}`);
  }
  const { full, ...common } = flags;
  if (full && log === "object") throw new UsageError(`--full is for --log vitess\n${USAGE}`);
  if (full && common.quick) throw new UsageError(`--quick and --full contradict each other\n${USAGE}`);
  if (log === "object") return { log, ...common, only: parsePhases(only, PHASES.object) };
  return { log, ...common, full, only: parsePhases(only, PHASES.vitess) };
}

function parseLog(text: string): keyof typeof PHASES {
  if (text === "object" || text === "vitess") return text;
  throw new UsageError(`--log ${JSON.stringify(text)} must be object or vitess\n${USAGE}`);
}

/** `text` null: all of them. */
function parsePhases<P extends string>(text: string | null, all: readonly P[]): Set<P> {
  if (text === null) return new Set(all);
  const phases = text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  const unknown = phases.find((name) => !(all as readonly string[]).includes(name));
  if (unknown !== undefined || phases.length === 0) {
    throw new UsageError(`--only ${JSON.stringify(text)} must be some of ${all.join(",")}\n${USAGE}`);
  }
  return new Set(phases as P[]);
}
