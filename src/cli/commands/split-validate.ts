import type { Command } from "commander";
import type { Issue } from "../../splitting/config/issue.ts";
import type { CheckedWorkload, Validation } from "../../splitting/config/validate.ts";
import type { Cli } from "../cli.ts";
import { CliError } from "../cli-error.ts";
import { EXIT } from "../exit-codes.ts";
import type { Run } from "../run.ts";
import {
  issueJson,
  issueParts,
  problemCount,
  readSplitFiles,
  type SplitFileFlags,
  withSplitFileFlags,
} from "../split-files.ts";

const COLUMNS = [
  { title: "WORKLOAD" },
  { title: "QUEUE" },
  { title: "CONTAINER" },
  { title: "BROKER" },
  { title: "SOURCE" },
  { title: "OVERRIDDEN" },
];

/** Says everything that is wrong with the configuration of a brokered split. */
export function splitValidate(cli: Cli): Command {
  const command = cli.command("validate", {
    summary: "check the configuration of a split beside its workload",
    about:
      "The configuration is the annotation fairlane.dev/queue-config of a Deployment or StatefulSet, or a file of its own. " +
      "It is held against the pod template, and everything wrong is told at once, with its place and the name of the rule. " +
      "Give all manifests that are applied together, so that an autoscaler is seen. Asks no server, and needs no token. " +
      "Ends with 2 where anything is wrong.",
    examples: [
      ["split validate -f worker.yaml", "a line for each queue that can be split, or for each problem"],
      [
        "split validate -f worker.yaml --config queues.yaml --json",
        'prints {"valid", "workloads", "issues"}',
      ],
      ["kustomize build . | fairlane split validate -f -", "from stdin"],
    ],
  });
  return withSplitFileFlags(command).action(
    cli.action<SplitFileFlags>(async (run, _names, flags) => {
      const { validate } = await import("../../splitting/config/validate.ts");
      const validation = validate(await readSplitFiles(run, flags));
      const { issues, left } = validation;
      await run.out.result(validationJson(validation), () => validationText(run, validation));
      const found = issues.length + left;
      if (found === 0) return;
      if (left > 0) run.out.note(`${left} more are not shown`);
      throw new CliError(`the configuration is not valid: ${problemCount(found)}`, EXIT.usage);
    }),
  );
}

function validationText(run: Run, { workloads, issues }: Validation): string {
  if (issues.length > 0) return issues.map((issue) => issueText(run, issue)).join("\n");
  const rows = workloads.flatMap(({ workload, queues }) =>
    queues.map(({ queue, container, naming }) => [
      workload.label,
      queue.name,
      container.name,
      queue.broker.provider,
      naming.find(({ role }) => role === "source")?.value ?? "",
      naming.map(({ overrideEnv }) => overrideEnv).join(", "),
    ]),
  );
  return run.out.table(COLUMNS, rows);
}

function issueText(run: Run, issue: Issue): string {
  const [place, words, rule] = issueParts(run, issue);
  return `${run.out.styled("bold", place)} ${words} ${run.out.styled("dim", rule)}`;
}

function validationJson({ workloads, issues, left }: Validation): unknown {
  return {
    valid: issues.length === 0,
    workloads: workloads.map(workloadJson),
    issues: issues.map(issueJson),
    ...(left === 0 ? {} : { issuesLeftOut: left }),
  };
}

function workloadJson({ workload, queues, valid }: CheckedWorkload): unknown {
  const { kind, name, namespace, file } = workload;
  return {
    kind,
    name,
    namespace,
    file,
    valid,
    // Of others not all is known that would stand here.
    queues: (valid ? queues : []).map(({ queue, container, naming }) => ({
      queue: queue.name,
      provider: queue.broker.provider,
      container: container.name,
      sourceName: naming.find(({ role }) => role === "source")?.value ?? null,
      overrides: naming.map(({ role, overrideEnv }) => ({ role, variable: overrideEnv })),
    })),
  };
}
