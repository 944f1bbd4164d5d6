/** Thrown by every port of an object that crashed: nothing of it can do anything any more. */
export class ObjectGone extends Error {
  constructor() {
    super("the object is gone");
    this.name = "ObjectGone";
  }
}
