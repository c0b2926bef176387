/** Storing and freshness of responses: the rules of nginx (proxy_cache_valid, proxy_ignore_headers). */
import { parseHttpDate } from '../../core/contract/http-date.js';
import type { StoredHead } from './entry-file.js';
import { storedLines, textOf } from './rfc9111/fields.js';
import { NO_TERMS } from './rfc9111/request-terms.js';
import { sliceOf } from './slices.js';
import { NOT_STORED, type CachingRules, type Judgement, type Received, type Renewal } from './rules.js';

const LONGEST_VARY = 128;

export const nginxRules: CachingRules = {
  alwaysValidates: false,
  updatesInBackground: false,
  invalidates: false,
  storesHeads: true,
  storesParts: false,
  readsQueries: false,
  errors: new Set(),
  keepsDate: false,
  modifiedSince: 'exact',
  terms: () => NO_TERMS,
  judge,
  storedHead: ({ response }) => textOf(response.status, storedLines(response.headers(), [])),
  isAbout: () => true,
  renewed,
  sentHead: ({ head }) => head,
  selectingValue: (_, value = '') => value.replace(/[ \t]*,[ \t]*/g, ',').replace(/[ \t]+/g, ' '),
  modified: ({ modified }) => modified,
};

function judge({ request, response, ignored, validity, responseTime: now }: Received): Judgement {
  const field = (name: string): string | undefined => (ignored.has(name) ? undefined : response.header(name));
  const vary = field('vary') ?? '';
  // The rest of the body is missing.
  if (response.status === 206 && sliceOf(request) === undefined) return NOT_STORED;
  if (field('set-cookie') !== undefined || vary.split(',').some((name) => name.trim() === '*') || vary.length > LONGEST_VARY)
    return NOT_STORED;
  const control = field('cache-control')?.toLowerCase() ?? '';
  const staleWhileRevalidate = directiveOf(control, 'stale-while-revalidate') ?? 0;
  const staleIfError = directiveOf(control, 'stale-if-error') ?? 0;
  const configured = (validity.get(response.status) ?? validity.get('any') ?? 0) / 1000;
  const said = accelExpires(field('x-accel-expires'), now) ?? fromControl(control) ?? fromExpires(field('expires'), now);
  const seconds = said ?? configured;
  return seconds > 0 ? { seconds, staleWhileRevalidate, staleIfError, born: now, flags: 0 } : NOT_STORED;
}

/** Validity by status is that of the stored response. */
function renewed(stored: StoredHead, received: Received): Renewal {
  const { validity, responseTime: now } = received;
  const { seconds, staleWhileRevalidate, staleIfError } = judge(received);
  const configured = (validity.get(Number(stored.head.slice(9, 12))) ?? validity.get('any') ?? 0) / 1000;
  const validUntil = now + (Number.isNaN(seconds) ? configured : seconds) * 1000;
  return { head: stored.head, modified: stored.modified, date: now, born: now, flags: 0, validUntil, staleWhileRevalidate, staleIfError };
}

/** `0`, seconds, or `@` and seconds since 1970. Undefined: it says nothing. */
function accelExpires(value: string | undefined, now: number): number | undefined {
  const [, at, digits] = /^(@?)(\d{1,12})$/.exec(value ?? '') ?? [];
  if (digits === undefined) return undefined;
  return at === '@' ? Number(digits) - now / 1000 : Number(digits);
}

function fromControl(control: string): number | undefined {
  // Anywhere in the text, as nginx: a member that separates them otherwise means them nevertheless.
  if (/no-cache|no-store|private/.test(control)) return 0;
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
