/** Times as nginx's logs show them. */

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `1.250`: seconds with milliseconds. */
export function seconds(milliseconds: number): string {
  return (milliseconds / 1000).toFixed(3);
}

const two = (value: number): string => String(value).padStart(2, '0');

function zone(date: Date, separator: string): string {
  const minutes = -date.getTimezoneOffset();
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}${separator}${two(size % 60)}`;
}

/** `21/Nov/2026:10:30:00 +0000`. */
export function logTime(date: Date): string {
  const day = `${two(date.getDate())}/${MONTHS[date.getMonth()]}/${date.getFullYear()}`;
  return `${day}:${clockTime(date)} ${zone(date, '')}`;
}

/** `2026-11-21T10:30:00+00:00`. */
export function isoTime(date: Date): string {
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}T${clockTime(date)}${zone(date, ':')}`;
}

function clockTime(date: Date): string {
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}
