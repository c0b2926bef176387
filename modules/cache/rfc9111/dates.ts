/** Dates as caches have to read them (RFC 9111, 4.2; RFC 9110, 5.6.7). */

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const TIME = String.raw`(\d\d):(\d\d):(\d\d)`;
/** The three forms; letters of any case. */
const FIXED = new RegExp(String.raw`^(?:mon|tue|wed|thu|fri|sat|sun), (\d\d) ([a-z]{3}) (\d{4}) ${TIME} gmt$`, 'i');
const RFC_850 = new RegExp(String.raw`^(?:mon|tues|wednes|thurs|fri|satur|sun)day, (\d\d)-([a-z]{3})-(\d\d) ${TIME} gmt$`, 'i');
const ASCTIME = new RegExp(String.raw`^(?:mon|tue|wed|thu|fri|sat|sun) ([a-z]{3}) ([\d ]\d) ${TIME} (\d{4})$`, 'i');

/**
 * Epoch milliseconds of a date in exactly one of its forms; NaN: it is none, as one with another zone than GMT.
 * @param now for years of two digits: none is more than 50 years ahead
 */
export function parseDate(text: string, now: number): number {
  const fixed = FIXED.exec(text);
  if (fixed !== null) return timeOf(Number(fixed[3]), fixed[2], fixed[1], fixed.slice(4));
  const old = RFC_850.exec(text);
  if (old !== null) return timeOf(fullYear(Number(old[3]), now), old[2], old[1], old.slice(4));
  const asctime = ASCTIME.exec(text);
  return asctime === null ? NaN : timeOf(Number(asctime[6]), asctime[1], asctime[2], asctime.slice(3));
}

function timeOf(year: number, monthName = '', day = '', time: readonly string[] = []): number {
  const month = MONTHS.indexOf(monthName.toLowerCase());
  const [hour = 0, minute = 0, second = 0] = time.map(Number);
  // 60 is a leap second.
  if (month < 0 || hour > 23 || minute > 59 || second > 60) return NaN;
  const date = new Date(0);
  date.setUTCFullYear(year, month, Number(day));
  if (date.getUTCDate() !== Number(day)) return NaN;
  return date.getTime() + ((hour * 60 + minute) * 60 + second) * 1000;
}

function fullYear(digits: number, now: number): number {
  const thisYear = new Date(now).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + digits;
  return year > thisYear + 50 ? year - 100 : year;
}
