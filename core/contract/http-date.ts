/** Dates of header fields. */

/** Seconds since 1970 of an HTTP date (RFC 9110, 5.6.7); NaN: it is none. The form of asctime has no zone, and means GMT. */
export function parseHttpDate(date: string): number {
  return Date.parse(date.endsWith('GMT') ? date : `${date} GMT`) / 1000;
}
