import { type Fairlane, FairlaneApiError } from "../client/fairlane.ts";
import type { Run } from "./run.ts";
import { similarNames } from "./similar-names.ts";

/** A group whose name is misspelt is made like any other: says so of one that is new. */
export async function noteNewGroup(
  run: Run,
  fairlane: Fairlane,
  topic: string,
  group: string,
): Promise<void> {
  if (await hasGroup(fairlane, topic, group)) return;
  const near = similarNames(group, await groupsOf(fairlane, topic)).join(", or ");
  const meant = near === "" ? "" : `; did you mean ${near}?`;
  run.out.note(`group ${group} is new in ${topic}: it begins with the earliest message${meant}`);
}

async function hasGroup(fairlane: Fairlane, topic: string, group: string): Promise<boolean> {
  try {
    await fairlane.admin.getGroup(topic, group);
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** Those that a misspelt one may have been meant for. */
async function groupsOf(fairlane: Fairlane, topic: string): Promise<string[]> {
  try {
    return (await fairlane.admin.getTopic(topic)).groups.map(({ group }) => group);
  } catch (error) {
    // The topic is new as well.
    if (isNotFound(error)) return [];
    throw error;
  }
}

export function isNotFound(error: unknown): boolean {
  return error instanceof FairlaneApiError && error.code === "not-found";
}
