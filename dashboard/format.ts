/** Numbers, sizes and times as people read them. */

const COUNT = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const SMALL = new Intl.NumberFormat('en', { maximumFractionDigits: 1, minimumFractionDigits: 1 });
const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];
const STEPS: readonly (readonly [number, string])[] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
];

export function count(value: number | undefined): string {
  return value === undefined ? '–' : COUNT.format(value);
}

export function rate(value: number | undefined): string {
  if (value === undefined) return '–';
  return value >= 100 || value === 0 ? COUNT.format(value) : SMALL.format(value);
}

export function bytes(value: number | undefined): string {
  if (value === undefined) return '–';
  let unit = 0;
  let rest = value;
  while (rest >= 1000 && unit < UNITS.length - 1) {
    rest /= 1000;
    unit++;
  }
  return `${unit === 0 || rest >= 100 ? COUNT.format(rest) : SMALL.format(rest)} ${UNITS[unit]}`;
}

export function percent(part: number, whole: number): string {
  if (whole === 0) return '–';
  const value = (part / whole) * 100;
  return `${value > 0 && value < 10 ? SMALL.format(value) : COUNT.format(value)} %`;
}

export function ms(value: number | undefined): string {
  if (value === undefined) return '–';
  if (value >= 10_000) return `${COUNT.format(value / 1000)} s`;
  if (value >= 1000) return `${SMALL.format(value / 1000)} s`;
  return `${value > 0 && value < 10 ? SMALL.format(value) : COUNT.format(value)} ms`;
}

/** `4 min`: whole units, the largest that there is one of. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  for (const [step, unit] of STEPS) if (seconds >= step) return `${COUNT.format(Math.floor(seconds / step))} ${unit}`;
  return '0 s';
}

export function ago(time: string | number, now: number): string {
  const at = typeof time === 'number' ? time : Date.parse(time);
  return Number.isNaN(at) ? '' : `${duration(now - at)} ago`;
}

/** Time of the day, with the date unless it is today. */
export function clock(time: string | number, now: number): string {
  const at = new Date(time);
  const text = at.toLocaleTimeString('en-GB');
  return at.toDateString() === new Date(now).toDateString() ? text : `${at.toLocaleDateString('en-CA')} ${text}`;
}

/** Of a scale of things that are counted: nothing between whole numbers. */
export function whole(value: number): string {
  return Number.isInteger(value) ? COUNT.format(value) : '';
}

/** `Fri 4 Dec 2026, 02:16` */
export function date(time: string | number): string {
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return '';
  const day = at.toLocaleDateString('en-GB', { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' });
  return `${day}, ${at.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })}`;
}

/** `500 × 128, 503 × 9`: the most frequent first. */
export function codesText(codes: Readonly<Record<string, number>>): string {
  return Object.entries(codes)
    .sort(([, one], [, other]) => other - one)
    .map(([code, number]) => `${code} × ${COUNT.format(number)}`)
    .join(', ');
}

/** Of a scale of rates. */
export function scale(value: number): string {
  return Number.isInteger(value) ? COUNT.format(value) : SMALL.format(value);
}
