/**
 * Names one failure of one message in one group, so that its dead letter is made once however often the
 * copy is tried, and another failure (after a reset, a redrive, in another group) makes another.
 */
export function deadLetterOrigin(failure: {
  group: string;
  generation: number;
  resetEpoch: number;
  offset: number;
}): string {
  return `dead:${failure.group}:${failure.generation}:${failure.resetEpoch}:${failure.offset}`;
}
