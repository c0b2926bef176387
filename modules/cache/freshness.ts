/** Storing and freshness of responses: the rules of nginx (proxy_cache_valid, proxy_ignore_headers). */
import { parseHttpDate } from '../../core/contract/http-date.js';
import type { MemberResponse } from '../../core/contract/http.js';

const LONGEST_VARY = 128;

/** Seconds; NaN: it may not be stored. 0 for the times after it: it may not be used then. */
export interface Freshness {
  readonly seconds: number;
  readonly staleWhileRevalidate: number;
  readonly staleIfError: number;
}

export const NOT_STORED: Freshness = { seconds: NaN, staleWhileRevalidate: 0, staleIfError: 0 };

/** Times of `proxy_cache_valid` by status, `any` for all others; milliseconds. */
export type Validity = ReadonlyMap<number | 'any', number>;

/**
 * @param ignored fields that have no effect, lower case
 * @param now epoch milliseconds
 */
export function freshnessOf(
  response: Pick<MemberResponse, 'status' | 'header'>,
  validity: Validity,
  ignored: ReadonlySet<string>,
  now: number,
): Freshness {
  const field = (name: string): string | undefined => (ignored.has(name) ? undefined : response.header(name));
  const vary = field('vary') ?? '';
  if (field('set-cookie') !== undefined || vary.split(',').some((name) => name.trim() === '*') || vary.length > LONGEST_VARY)
    return NOT_STORED;
  const control = field('cache-control')?.toLowerCase() ?? '';
  const staleWhileRevalidate = directiveOf(control, 'stale-while-revalidate') ?? 0;
  const staleIfError = directiveOf(control, 'stale-if-error') ?? 0;
  const seconds = accelExpires(field('x-accel-expires'), now) ?? fromControl(control) ?? fromExpires(field('expires'), now);
  if (seconds !== undefined) return seconds > 0 ? { seconds, staleWhileRevalidate, staleIfError } : NOT_STORED;
  const configured = validity.get(response.status) ?? validity.get('any') ?? 0;
  return configured > 0 ? { seconds: configured / 1000, staleWhileRevalidate, staleIfError } : NOT_STORED;
}

/** `0`, seconds, or `@` and seconds since 1970. Undefined: it says nothing. */
function accelExpires(value: string | undefined, now: number): number | undefined {
  const [, at, digits] = /^(@?)(\d{1,12})$/.exec(value ?? '') ?? [];
  if (digits === undefined) return undefined;
  return at === '@' ? Number(digits) - now / 1000 : Number(digits);
}

function fromControl(control: string): number | undefined {
  if (/(?:^|[\s,])(?:no-cache|no-store|private)(?=$|[\s,=])/.test(control)) return 0;
  return directiveOf(control, 's-maxage') ?? directiveOf(control, 'max-age');
}

/** Seconds of a directive of Cache-Control. */
function directiveOf(control: string, name: string): number | undefined {
  const digits = new RegExp(`(?:^|[\\s,])${name}=(\\d+)`).exec(control)?.[1];
  return digits === undefined ? undefined : Math.min(Number(digits), 2 ** 31 - 1);
}

/** A date that is none is one in the past. */
function fromExpires(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  const at = parseHttpDate(value);
  return Number.isNaN(at) ? 0 : at - now / 1000;
}
