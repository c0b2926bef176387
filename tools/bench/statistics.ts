/** Median with the least and the greatest value: how the figures of several rounds are shown. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** The value below which `share` (0 to 1) of the values are, by the nearest rank. NaN without values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const rank = Math.min(Math.max(Math.ceil(share * sorted.length), 1), sorted.length);
  return sorted[rank - 1] ?? Number.NaN;
}

/** The middle value, or the mean of the two in the middle. NaN without values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length / 2;
  const upper = sorted[Math.floor(half)] ?? Number.NaN;
  return Number.isInteger(half) ? ((sorted[half - 1] ?? Number.NaN) + upper) / 2 : upper;
}

/** Undefined without values. */
export function spread(values: readonly number[]): Spread | undefined {
  if (values.length === 0) return undefined;
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}
