/** Pages that one run reads: with a hundred rows each, far more than anybody looks at. */
const MAX_PAGES = 1000;

/** Every page in turn, each asked for by the `next` of the one before. */
export async function* pages<Next extends string | number, P extends { next: Next | null }>(
  read: (after: Next | undefined) => Promise<P>,
): AsyncGenerator<P> {
  let after: Next | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const one = await read(after);
    yield one;
    if (one.next === null) return;
    after = one.next;
  }
}
