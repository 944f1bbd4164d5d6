/** Compared are a few dozens of short names; a longer word is no misspelling of any. */
const MAX_CHARS = 64;
const MAX_COMPARED = 500;

/** The known name that a misspelt one was probably meant to be, or null. */
export function nearestName(given: string, known: Iterable<string>): string | null {
  if (given.length > MAX_CHARS) return null;
  let best: string | null = null;
  let fewest = Math.max(1, Math.floor(given.length / 3)) + 1;
  let compared = 0;
  for (const name of known) {
    compared += 1;
    if (compared > MAX_COMPARED) break;
    if (name === given || name.length > MAX_CHARS) continue;
    // `management_url` is `managementUrl`, however many letters differ.
    const edits = bare(name) === bare(given) ? 0 : editsBetween(given, name);
    if (edits < fewest) {
      best = name;
      fewest = edits;
    }
  }
  return best;
}

function bare(name: string): string {
  return name.toLowerCase().replace(/[-_.\s]/g, "");
}

/** Insertions, deletions, replacements, and exchanges of neighbours. */
function editsBetween(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let edits = Math.min(replaced, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) edits = Math.min(edits, (beforeLast[j - 2] ?? 0) + 1);
      row.push(edits);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
