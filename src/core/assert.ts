/** A programmer's error: state that the code's own rules exclude. Never a user's mistake. */
export class AssertionFailure extends Error {
  constructor(message: string) {
    super(message);
    this.name = "AssertionFailure";
  }
}

export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionFailure(message);
}
