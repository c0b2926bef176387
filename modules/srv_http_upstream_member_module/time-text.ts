const UNITS: readonly (readonly [unit: string, ms: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
];

/** Milliseconds in the shortest exact form: `2m`, `90s`, `1d1s`, `500ms`, `0s`. */
export function timeText(ms: number): string {
  if (ms === 0) return '0s';
  const single = UNITS.find(([, length]) => ms % length === 0) ?? ['ms', 1];
  const inOneUnit = `${ms / single[1]}${single[0]}`;
  const inSeveral = severalUnits(ms);
  return inSeveral.length < inOneUnit.length ? inSeveral : inOneUnit;
}

function severalUnits(ms: number): string {
  let text = '';
  let left = ms;
  for (const [unit, length] of UNITS) {
    if (left >= length) text += `${Math.floor(left / length)}${unit}`;
    left %= length;
  }
  return text;
}
