/** Finds what was probably meant by a misspelt name. */

/**
 * The candidate that is closest to `name`, if it is close enough to be meant.
 * @param most slips: one for every three characters begun, but not every character
 */
export function nearest(
  name: string,
  candidates: Iterable<string>,
  most = Math.min(Math.ceil(name.length / 3), name.length - 1),
): string | undefined {
  let best: string | undefined;
  let least = most + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - name.length) >= least) continue;
    const distance = slips(name, candidate);
    if (distance < least) [best, least] = [candidate, distance];
  }
  return best;
}

/** Says for a word that is none of `words` which of them was meant, or which there are. */
export function wordHint(word: string, words: readonly string[]): string {
  const meant = nearest(word, words);
  return meant === undefined ? `one of: ${words.join(', ')}` : `did you mean "${meant}"?`;
}

/** Insertions, deletions, replacements and swaps of neighbours between two texts (optimal string alignment). */
function slips(a: string, b: string): number {
  let before: readonly number[] = [];
  let previous: readonly number[] = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      current[j] = Math.min(
        (previous[j] ?? 0) + 1,
        (current[j - 1] ?? 0) + 1,
        (previous[j - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (before[j - 2] ?? 0) + 1 : Infinity,
      );
    }
    [before, previous] = [previous, current];
  }
  return previous[b.length] ?? 0;
}
