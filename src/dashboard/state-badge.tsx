import type { Explanation } from "../client/fairlane.ts";

type State = Explanation["state"];

/** Quiet for what goes on by itself, loud for what somebody has to look at. */
const TONES: Readonly<Record<State, "good" | "warn" | "bad" | "">> = {
  deliverable: "good",
  waiting: "warn",
  "in-flight": "good",
  "backing-off": "warn",
  postponed: "warn",
  delayed: "",
  "being-dead-lettered": "bad",
  expired: "bad",
  settled: "good",
  "dead-lettered": "bad",
  "other-group": "",
  "not-found": "bad",
};

export function StateBadge({ state }: { state: State }) {
  return <span class={`badge ${TONES[state] ?? ""}`}>{state.replaceAll("-", " ")}</span>;
}
