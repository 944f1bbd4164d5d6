import type {
  DeadLetter,
  DeadLetterPage,
  Explanation,
  Overview,
  SubscriberList,
  TopicOverview,
  WaitingLanes,
} from "../client/fairlane.ts";
import type { BodyPreview } from "./preview.ts";
import type { Problem } from "./problem.ts";
import type { Session } from "./session.ts";

/** What was read last, and what went wrong since; a failure leaves what is known in place. */
export interface Reading<T> {
  value: T | null;
  problem: Problem | null;
}

export const UNREAD: Reading<never> = { value: null, problem: null };

/** Which message is asked about. Exactly one of the two. */
export type Question = { partitionKey: string } & ({ id: string } | { offset: number });

export interface Confirmation {
  title: string;
  text: string;
  /** What the button says that does it. */
  action: string;
  run(): Promise<void>;
}

export interface Preview {
  row: DeadLetter;
  body: Reading<BodyPreview>;
}

export interface BoardState {
  session: Session;
  /** Of the token; null where the server checks none. */
  scopes: readonly string[] | null;
  visible: boolean;
  overview: Reading<Overview>;
  /** What each page up to the one shown began after; null: with the first topic. */
  pageStarts: readonly (string | null)[];
  topic: string | null;
  group: string | null;
  subscribers: Reading<SubscriberList>;
  waiting: Reading<WaitingLanes>;
  question: Question | null;
  explanation: Reading<Explanation>;
  deadLetters: Reading<DeadLetterPage>;
  /** As `pageStarts`, by offset. */
  deadLetterStarts: readonly number[];
  /** Offsets of the dead letters that are ticked. */
  ticked: ReadonlySet<number>;
  preview: Preview | null;
  confirmation: Confirmation | null;
  /** What the last action did. */
  notice: string | null;
  /** Why the last action failed. */
  failure: Problem | null;
  /** false: the tab's storage does not take what the plots show. */
  historyKept: boolean;
}

export function initialState(session: Session, scopes: readonly string[] | null): BoardState {
  return {
    session,
    scopes,
    visible: true,
    overview: UNREAD,
    pageStarts: [null],
    topic: null,
    group: null,
    subscribers: UNREAD,
    waiting: UNREAD,
    question: null,
    explanation: UNREAD,
    deadLetters: UNREAD,
    deadLetterStarts: [0],
    ticked: new Set(),
    preview: null,
    confirmation: null,
    notice: null,
    failure: null,
    historyKept: true,
  };
}

export function mayAdminister({ scopes }: BoardState): boolean {
  return scopes === null || scopes.includes("admin");
}

export function chosenTopic({ overview, topic }: BoardState): TopicOverview | null {
  return overview.value?.topics.find((each) => each.topic === topic) ?? null;
}
