import type { Explanation } from "../client/fairlane.ts";
import { Countdown } from "./moment.tsx";

/** When time alone changes what becomes of the message, and what it is in then. */
export function NextChange({ explanation }: { explanation: Explanation }) {
  const { nextChangeAt, nextState } = explanation;
  if (nextChangeAt === null) return <span class="quiet">by an event</span>;
  return (
    <>
      <Countdown atMs={nextChangeAt} />
      {nextState !== null && `, then ${nextState.replaceAll("-", " ")}`}
    </>
  );
}
