export const PHASES = ["publish", "endToEnd", "latency", "rows", "growth", "neighbour"] as const;
export type Phase = (typeof PHASES)[number];

export interface Options {
  /** End with one line of JSON, alone on stdout. */
  json: boolean;
  /** Short windows and small backlogs: whether it works, not how fast. */
  quick: boolean;
  only: ReadonlySet<Phase>;
}

/** What the command line got wrong, as a line for people. */
export class UsageError extends Error {
  override name = "UsageError";
}

export const USAGE = `usage: npm run bench -- [--json] [--quick] [--only ${PHASES.join(",")}]`;

export function parseOptions(args: readonly string[]): Options {
  const options = { json: false, quick: false, only: new Set<Phase>(PHASES) };
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const [name, value] = arg.split("=", 2) as [string, string | undefined];
    if (name === "--only") options.only = parsePhases(value ?? rest.shift() ?? "");
    else if (arg === "--json") options.json = true;
    else if (arg === "--quick") options.quick = true;
    else throw new UsageError(`unknown option ${arg}\n${USAGE}`);
  }
  return options;
}

function parsePhases(text: string): Set<Phase> {
  const phases = text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  const unknown = phases.find((name) => !(PHASES as readonly string[]).includes(name));
  if (unknown !== undefined || phases.length === 0) {
    throw new UsageError(`--only ${JSON.stringify(text)} must be some of ${PHASES.join(",")}\n${USAGE}`);
  }
  return new Set(phases as Phase[]);
}
