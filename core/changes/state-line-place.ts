import type { StateLineTable } from './state-tables.js';

/**
 * The place of a new line of a state file between those around it: a fraction, so that the others keep theirs. Where there is none left
 * between the two, all lines of the block get new ones.
 * @param keys of all lines of the block in their order, the new one among them
 */
export function placeOfLine(lines: StateLineTable, block: string, keys: readonly number[], key: number): number {
  const at = keys.indexOf(key);
  const placeAt = (index: number): number | undefined => lines.get(block, keys[index] ?? -1)?.place;
  const next = placeAt(at + 1) ?? at + 1;
  const previous = placeAt(at - 1) ?? next - 1;
  const between = (previous + next) / 2;
  if (between > previous && between < next) return between;
  for (const [place, other] of keys.entries()) {
    const line = lines.get(block, other);
    if (line !== undefined) lines.put({ ...line, place });
  }
  return at;
}
