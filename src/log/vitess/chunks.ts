/** `items` in parts of at most `size`; `first` is the place of a part's first item. */
export function chunksOf<T>(items: readonly T[], size: number): { first: number; items: readonly T[] }[] {
  const chunks: { first: number; items: readonly T[] }[] = [];
  for (let first = 0; first < items.length; first += size) {
    chunks.push({ first, items: items.slice(first, first + size) });
  }
  return chunks;
}
