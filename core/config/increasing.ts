/**
 * The places of a longest increasing subsequence (patience sorting, O(n log n)): what can stay where it is when a list changes its order.
 *
 * @param values no two of them are equal
 */
export function longestIncreasing(values: readonly number[]): number[] {
  /** By length - 1: the place of the smallest value that ends such a sequence. */
  const ends: number[] = [];
  const previous: number[] = [];
  for (const [place, value] of values.entries()) {
    const length = firstNotBelow(ends, value, values);
    previous[place] = ends[length - 1] ?? -1;
    ends[length] = place;
  }
  const places: number[] = [];
  for (let place = ends.at(-1) ?? -1; place >= 0; place = previous[place] ?? -1) places.push(place);
  return places.reverse();
}

function firstNotBelow(ends: readonly number[], value: number, values: readonly number[]): number {
  let low = 0;
  let high = ends.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((values[ends[middle] ?? 0] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
