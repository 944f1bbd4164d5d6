/** Why the local server cannot start or go on, as one line that says what to do. Shown without a stack. */
export class StartRefusal extends Error {
  override name = "StartRefusal";
}
