/** Names that may have been meant: few edits away, or one within the other. Best first. */
const MAX_SHOWN = 5;
const MAX_COMPARED = 1000;

export function similarNames(meant: string, names: readonly string[]): string[] {
  const allowed = Math.max(1, Math.floor(meant.length / 3));
  return names
    .slice(0, MAX_COMPARED)
    .map((name) => ({ name, edits: editsBetween(meant, name) }))
    .filter(({ name, edits }) => edits <= allowed || name.includes(meant) || meant.includes(name))
    .sort((a, b) => a.edits - b.edits || (a.name < b.name ? -1 : 1))
    .slice(0, MAX_SHOWN)
    .map(({ name }) => name);
}

/** Levenshtein's distance. Names are at most 128 characters long. */
function editsBetween(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const changed = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(changed, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    previous = row;
  }
  return previous[b.length] ?? 0;
}
