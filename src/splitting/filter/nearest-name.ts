/** Longer names are no slips of the known ones. */
const MAX_COMPARED_CHARS = 32;

/** The known name that was probably meant; null: none is near. */
export function nearestName(meant: string, known: readonly string[]): string | null {
  if (meant.length > MAX_COMPARED_CHARS) return null;
  const lower = meant.toLowerCase();
  const allowed = Math.max(1, Math.floor(meant.length / 3));
  const nearest = known
    .map((name) => ({ name, edits: editsBetween(lower, name) }))
    .sort((a, b) => a.edits - b.edits)[0];
  return nearest && nearest.edits <= allowed ? nearest.name : null;
}

/** Levenshtein's distance. */
function editsBetween(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (previous[j] as number) + 1, (row[j - 1] as number) + 1));
    }
    previous = row;
  }
  return previous[b.length] as number;
}
