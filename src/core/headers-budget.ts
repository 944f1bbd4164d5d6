/** What the pages of one scan may still hold of headers, in bytes of UTF-8. */
export class HeadersBudget {
  private leftBytes: number;

  constructor(maxBytes: number) {
    this.leftBytes = maxBytes;
  }

  get isSpent(): boolean {
    return this.leftBytes === 0;
  }

  /**
   * Is there room for the next entry of a page? Then it is taken. There always is for the first: a page of none would
   * make its reader ask for the same again.
   */
  takes(headersBytes: number, isFirst: boolean): boolean {
    const fits = !this.isSpent && headersBytes <= this.leftBytes;
    // What did not fit spends the rest: no later page of the scan goes on with smaller ones.
    this.leftBytes = fits ? this.leftBytes - headersBytes : 0;
    return fits || isFirst;
  }
}
