/** Why the local server cannot start or go on, as one line that says what to do. Shown without a stack. */
export class StartRefusal extends Error {
  override name = "StartRefusal";
  /** It may pass by itself within a moment: a server that is just ending. */
  readonly passing: boolean;

  constructor(message: string, passing = false) {
    super(message);
    this.passing = passing;
  }
}
