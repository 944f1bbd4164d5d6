/** The state from which no text is accepted any more. */
export const DEAD = -1;

/**
 * A deterministic automaton over code points. It starts in state 0; a text is accepted if the state after its last
 * code point is. Code points that it never tells apart are one class. It is total: DEAD stays DEAD.
 */
export interface Automaton {
  /** Code points at which another class may begin, ascending; the first is 0. */
  readonly starts: readonly number[];
  classOf(codePoint: number): number;
  /** `state` is not DEAD. */
  next(state: number, classIndex: number): number;
  /** `state` is not DEAD. */
  isAccepting(state: number): boolean;
}
