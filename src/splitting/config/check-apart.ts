import type { CheckedQueue } from "./check-queue.ts";
import { type Path, quoted, type Report, type Rule } from "./issue.ts";
import { connectionVariables, namingVariables } from "./queue-config.ts";

/** A variable of a container that a queue is named by. */
interface Claim {
  queue: string;
  env: string;
  overrideEnv: string;
  path: Path;
}

/**
 * What is overridden for one queue may be neither overridden for another, nor name another, nor say how a broker is
 * reached: one variable has one value.
 */
export function checkApart(checked: readonly CheckedQueue[], report: Report): void {
  for (const container of new Set(checked.map((one) => one.container))) {
    const own = checked.filter((one) => one.container === container);
    const connections = new Set(own.flatMap(({ queue }) => connectionVariables(queue).map(({ env }) => env)));
    const claims = own.flatMap(claimsOf);
    for (const [place, claim] of claims.entries()) {
      const { env, overrideEnv, path } = claim;
      const say = (rule: Rule, key: string, message: string) => report(rule, [...path, key], message);
      const key = overrideEnv === env ? "env" : "overrideEnv";
      const before = claims.slice(0, place);
      const named = before.find((other) => other.env === env);
      const overridden = before.find((other) => other.overrideEnv === overrideEnv);
      const source = overrideEnv !== env && claims.find((other) => other.env === overrideEnv);
      if (named)
        say("source-twice", "env", `${quoted(env)} names what queue ${quoted(named.queue)} reads already`);
      else if (overridden) {
        say(
          "override-twice",
          key,
          `${quoted(overrideEnv)} is overridden for queue ${quoted(overridden.queue)} already`,
        );
      } else if (source) {
        say(
          "override-is-source",
          key,
          `${quoted(overrideEnv)} names what queue ${quoted(source.queue)} reads`,
        );
      }
      if (connections.has(overrideEnv)) {
        const message = `${quoted(overrideEnv)} says how the broker is reached, and cannot name a shadow`;
        say("override-is-connection", key, message);
      }
    }
  }
}

function claimsOf({ queue }: CheckedQueue): Claim[] {
  return namingVariables(queue).map(({ env, overrideEnv, path }) => ({
    queue: queue.name,
    env,
    overrideEnv,
    path: ["queues", queue.index, ...path],
  }));
}
