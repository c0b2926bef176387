/** Calls of clients with their outcomes, and whether one order of all of them explains these. */

/** An increment of a counter by compare-and-set. Times are milliseconds of one clock. */
export interface Increment {
  /** Value that it was to have. */
  readonly value: number;
  readonly began: number;
  readonly ended: number;
  /** `unknown`: it may have been made. */
  readonly outcome: 'made' | 'unknown';
}

/**
 * Faults of a history of one counter. In one order each made increment follows the one before it: no two have the same value, one that began after another one
 * had ended has a greater value, and every value up to the last one is of an increment that was made or may have been.
 */
export function historyFaults(history: readonly Increment[], last: number): string[] {
  const made = history.filter(({ outcome }) => outcome === 'made').toSorted((a, b) => a.value - b.value);
  const possible = new Set(history.map(({ value }) => value));
  const faults: string[] = [];
  let earliestEnd = Infinity;
  for (const [at, { value, began, ended }] of made.toReversed().entries()) {
    if (made.at(-at)?.value === value && at > 0) faults.push(`${value} was made twice`);
    if (earliestEnd < began) faults.push(`${value} began after a greater one had ended`);
    earliestEnd = Math.min(earliestEnd, ended);
  }
  for (let value = 1; value <= last; value++) if (!possible.has(value)) faults.push(`${value} is missing`);
  const greatest = made.at(-1)?.value ?? 0;
  if (greatest > last) faults.push(`${greatest} was made, but ${last} is the last one`);
  return faults;
}
