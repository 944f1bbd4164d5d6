import { type Command, InvalidArgumentError } from "commander";
import { nameProblem } from "../../core/names.ts";
import type { Override } from "../../splitting/config/patch.ts";
import type { Workload } from "../../splitting/config/read-manifests.ts";
import type { CheckedWorkload, Validation } from "../../splitting/config/validate.ts";
import { isLabel, resourceName } from "../../splitting/state/names.ts";
import { MAX_GENERATION, MAX_PREFIX_CHARS, MAX_WORKLOAD_CHARS } from "../../splitting/state/split-limits.ts";
import type { Cli } from "../cli.ts";
import { CliError, usageError } from "../cli-error.ts";
import { integerFlag } from "../durations.ts";
import { EXIT } from "../exit-codes.ts";
import type { Run } from "../run.ts";
import {
  issueParts,
  problemCount,
  readSplitFiles,
  type SplitFileFlags,
  withSplitFileFlags,
} from "../split-files.ts";

interface PatchFlags extends SplitFileFlags {
  inverse?: boolean;
  generation: number;
  prefix: string;
  split?: string;
}

const DEFAULT_PREFIX = "fairlane";

/** Prints what points a workload at its shadows, and what takes that back. */
export function splitPatch(cli: Cli): Command {
  const command = cli.command("patch", {
    summary: "print what points a workload at its shadows, or back",
    about:
      "A JSON Patch (RFC 6902) for the one workload that is valid: it sets the variables that are overridden, and an " +
      "annotation of the pods with the generation of the override. --inverse prints the patch that takes exactly that back; " +
      "make both of the same manifest. Each has tests in it, and fails whole where the workload is not the one that it was " +
      "made of: for one that runs, make it of what the cluster has. Shadows are named by tenant, prefix, split and queue. " +
      "Asks no server, and needs no token.",
    examples: [
      ["split patch -f worker.yaml > override.json", "kubectl patch takes it with --type json --patch-file"],
      ["split patch -f worker.yaml --inverse > back.json", "gives the manifest back as it was"],
      ["kubectl get deployment worker -o yaml | fairlane split patch -f -", "of a running one"],
      ["split patch -f worker.yaml --json", 'prints {"workload", "overrides", "patch", "inverse", …}'],
    ],
  });
  return withSplitFileFlags(command)
    .option("--inverse", "print the patch that takes the override back")
    .option(
      "--generation <number>",
      "tells this override from those before it",
      integerFlag(1, MAX_GENERATION),
      1,
    )
    .option("--prefix <label>", "names of shadows begin with it", prefixFlag, DEFAULT_PREFIX)
    .option("--split <name>", "the split's name; the workload's if absent", splitFlag)
    .action(
      cli.action<PatchFlags>(async (run, _names, flags) => {
        const [{ validate }, { overridePatch }] = await Promise.all([
          import("../../splitting/config/validate.ts"),
          import("../../splitting/config/patch.ts"),
        ]);
        const checked = theOne(run, validate(await readSplitFiles(run, flags)));
        const { workload } = checked;
        const { generation, prefix } = flags;
        const { tenant } = run.target;
        const split = flags.split ?? splitOf(workload);
        const shadowOf = (queue: string) =>
          resourceName({ prefix, kind: "app-shadow", tenant, workload: split, queue, slot: null });
        const { overrides, patch, inverse } = overridePatch(checked, { generation, shadowOf });
        const { kind, name, namespace } = workload;
        const all = { workload: { kind, name, namespace }, tenant, split, prefix, generation, overrides };
        await run.out.result({ ...all, patch, inverse }, () =>
          run.out.text(JSON.stringify(flags.inverse ? inverse : patch, null, 2)),
        );
        for (const override of overrides) run.out.note(noteOf(override, flags.inverse === true));
      }),
    );
}

function noteOf({ queue, container, variable, role, source, shadow }: Override, inverse: boolean): string {
  const where = `${variable} of container ${container}`;
  if (inverse) return `${queue}: ${where} is as it was, the ${role} is ${source} again`;
  return `${queue}: ${where} names ${shadow} in place of the ${role} ${source}`;
}

/** The only workload with a configuration, which must be valid. */
function theOne(run: Run, { workloads, issues, left }: Validation): CheckedWorkload {
  if (issues.length > 0) {
    const lines = issues.map((issue) => `\n  ${issueParts(run, issue).join(" ")}`).join("");
    const message = `there is no patch: the configuration is not valid: ${problemCount(issues.length + left)}`;
    throw new CliError(`${message}${lines}`, EXIT.usage);
  }
  const [workload, another] = workloads;
  if (workload && !another) return workload;
  const names = workloads.map((one) => one.workload.label);
  throw usageError(
    "a patch is for one workload",
    `name one with --workload: ${names.slice(0, 10).join(", ")}`,
  );
}

function splitOf({ name }: Workload): string {
  const problem = nameProblem(name, MAX_WORKLOAD_CHARS);
  if (problem === null) return name;
  throw usageError(`the workload's name cannot be a split's: it ${problem}`, "name the split with --split");
}

function splitFlag(text: string): string {
  const problem = nameProblem(text, MAX_WORKLOAD_CHARS);
  if (problem !== null) throw new InvalidArgumentError(`It ${problem}.`);
  return text;
}

function prefixFlag(text: string): string {
  if (isLabel(text, MAX_PREFIX_CHARS)) return text;
  throw new InvalidArgumentError(`Give at most ${MAX_PREFIX_CHARS} of a-z, 0-9 and -.`);
}
