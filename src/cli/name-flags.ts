import { InvalidArgumentError } from "commander";
import {
  groupProblem,
  keyProblem,
  namedKeyProblem,
  routeProblem,
  subscriberProblem,
  topicProblem,
} from "../core/names.ts";
import { usageError } from "./cli-error.ts";

/** Names are checked before anything is sent: a wrong one is wrong usage, and nothing was done. */

function checkedBy(problemOf: (text: string) => string | null): (text: string) => string {
  return (text) => {
    const problem = problemOf(text);
    if (problem !== null) throw new InvalidArgumentError(`It ${problem}.`);
    return text;
  };
}

/** A partition key of a stored message: also the reserved ones, ~0 to ~15. */
export const keyFlag = checkedBy(namedKeyProblem);
export const idFlag = checkedBy(keyProblem);
export const groupFlag = checkedBy(groupProblem);
export const subscriberFlag = checkedBy(subscriberProblem);
export const routeFlag = checkedBy(routeProblem);

const ARGUMENTS: Readonly<Record<string, (text: string) => string | null>> = {
  topic: topicProblem,
  group: groupProblem,
  route: routeProblem,
};

/** The names that a command takes without a flag. Throws a CliError. */
export function checkArgument(name: string, value: unknown): void {
  const problem = typeof value === "string" ? ARGUMENTS[name]?.(value) : null;
  if (problem) throw usageError(`the ${name}'s name ${problem}`);
}
