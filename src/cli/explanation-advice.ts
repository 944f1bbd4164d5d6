import type { Blocker, Explanation } from "../client/fairlane.ts";
import { shellWord } from "./shell-word.ts";

/** What one can do about an explanation, as commands to copy; most have nothing to be done. */
export function adviceOn(explanation: Explanation): string[] {
  const { topic, group, state, deliveredAt, subscriber, blockers } = explanation;
  const advice = blockers.flatMap((blocker) => adviceOnBlocker(blocker, explanation) ?? []);
  if (state === "in-flight" && subscriber !== undefined && deliveredAt !== undefined)
    advice.push(`see what ${subscriber} has: fairlane subscribers ${topic} ${group}`);
  if (state === "dead-lettered") advice.push(`mend the cause, then: ${redriveCommand(explanation)}`);
  return [...new Set(advice)];
}

function routeFlags(route: string | undefined): string {
  return route === undefined ? "" : ` --route ${route}`;
}

function redriveCommand({ topic, group, partitionKey, id }: Explanation): string {
  const [key, one] = [shellWord(partitionKey), id === null ? null : shellWord(id)];
  const only = key === null || one === null ? "" : ` --id ${one} --key ${key}`;
  return `fairlane redrive ${topic} --group ${group}${only}`;
}

function adviceOnBlocker(blocker: Blocker, { topic, group, partitionKey }: Explanation): string | null {
  const key = shellWord(partitionKey);
  switch (blocker.kind) {
    case "group-paused":
      return `resume it: fairlane groups resume ${topic} ${group}`;
    case "no-subscriber":
      return `start a consumer, such as: fairlane consume ${topic} --group ${group}${routeFlags(blocker.route)} -- <program>`;
    case "nobody-asking":
    case "share":
    case "in-flight-limit":
      return `see who has what: fairlane subscribers ${topic} ${group}`;
    case "lease":
      return key === null
        ? null
        : `if ${blocker.subscriber} is gone for good: fairlane release-lease ${topic} ${group} --key ${key}`;
    case "message": {
      if (key === null) return null;
      const id = blocker.id === undefined ? null : shellWord(blocker.id);
      const name = id === null ? `--offset ${blocker.offset}` : `--id ${id}`;
      return `look at the message before it: fairlane inspect ${topic} --key ${key} ${name}`;
    }
    case "failed-limit":
      return `see which messages fail: fairlane waiting ${topic} ${group}`;
    default:
      return null;
  }
}
