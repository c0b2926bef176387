/** Which responses are stored, and for how long they are fresh (RFC 9111, 3 and 4.2). */
import { StoredFlag } from '../entry-file.js';
import { NOT_STORED, type Judgement, type Validity } from '../rules.js';
import { birthOf } from './age.js';
import { isUnqualified, parseCacheControl, parseTargeted, secondsOf, type CacheControl } from './cache-control.js';
import { parseDate } from './dates.js';
import type { Fields } from './fields.js';

/** Statuses whose responses are fresh for a while without saying so (RFC 9110, 15.1). */
const HEURISTIC = new Set([200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]);
/** Statuses whose rules of storing are known here (RFC 9110, 15), for must-understand. */
const UNDERSTOOD = new Set([
  ...HEURISTIC,
  201,
  202,
  205,
  302,
  303,
  307,
  400,
  401,
  402,
  403,
  406,
  407,
  408,
  409,
  411,
  412,
  413,
  415,
  416,
  417,
  421,
  422,
  426,
  500,
  502,
  503,
  504,
  505,
]);
/** The part of the time since its last change for which a response is probably fresh, and its limit in seconds (RFC 9111, 4.2.2). */
const HEURISTIC_PART = 0.1;
const HEURISTIC_LIMIT = 86_400;

/** A response of a member, or one that a validation has changed. */
export interface ReceivedFields {
  readonly status: number;
  readonly fields: Fields;
  readonly isAuthorized: boolean;
  /** Epoch milliseconds. */
  readonly requestTime: number;
  readonly responseTime: number;
  readonly validity: Validity;
}

const targetedOf = (fields: Fields): CacheControl | undefined =>
  parseTargeted(fields.get('cdn-cache-control'), fields.get('surrogate-control'));

/** The directives of a response that count here. */
export function controlOf(fields: Fields): CacheControl {
  return targetedOf(fields) ?? parseCacheControl(fields.get('cache-control'));
}

export function judge(received: ReceivedFields): Judgement {
  const { fields } = received;
  const control = controlOf(fields);
  if (!mayStore(received, control)) return NOT_STORED;
  const explicit = explicitLifetime(received, control);
  const seconds = explicit ?? configuredLifetime(received) ?? heuristicLifetime(received, control);
  if (seconds === undefined) return NOT_STORED;
  const isValidated = isUnqualified(control, 'no-cache');
  if (fields.has('set-cookie') && !isShared(control, explicit, isValidated)) return NOT_STORED;
  const staleWhileRevalidate = secondsOf(control, 'stale-while-revalidate') || 0;
  const staleIfError = secondsOf(control, 'stale-if-error') || 0;
  const neverStale = control.has('must-revalidate') || control.has('proxy-revalidate') || control.has('s-maxage');
  const born = birthOf(fields, received.requestTime, received.responseTime);
  const isFresh = !isValidated && born + seconds * 1000 > received.responseTime;
  const hasValidator = fields.has('etag') || fields.has('last-modified');
  // Nothing could be done with it.
  if (!isFresh && !hasValidator && (isValidated || neverStale || (staleWhileRevalidate === 0 && staleIfError === 0))) return NOT_STORED;
  const flags = (neverStale ? StoredFlag.NeverStale : 0) | (isValidated ? StoredFlag.AlwaysValidated : 0);
  return { seconds, staleWhileRevalidate, staleIfError, born, flags };
}

function mayStore({ status, fields, isAuthorized }: ReceivedFields, control: CacheControl): boolean {
  if (status < 200 || status === 304) return false;
  if (control.has('must-understand')) {
    if (!UNDERSTOOD.has(status)) return false;
  } else if (control.has('no-store')) return false;
  if (isUnqualified(control, 'private')) return false;
  if (isAuthorized && !control.has('public') && !control.has('s-maxage') && !control.has('must-revalidate')) return false;
  return !(fields.get('vary') ?? '').split(',').some((name) => name.trim() === '*');
}

/** Cookies are for all clients only if the response is clearly meant for them. */
function isShared(control: CacheControl, explicit: number | undefined, isValidated: boolean): boolean {
  return !isValidated && (control.has('public') || (explicit ?? 0) > 0);
}

/** A malformed lifetime is 0 (RFC 9111, 4.2.1). */
function explicitLifetime({ fields, responseTime }: ReceivedFields, control: CacheControl): number | undefined {
  const seconds = secondsOf(control, 's-maxage') ?? secondsOf(control, 'max-age');
  if (seconds !== undefined) return Number.isNaN(seconds) ? 0 : seconds;
  const expires = targetedOf(fields) === undefined ? fields.get('expires') : undefined;
  if (expires === undefined) return undefined;
  const date = parseDate(fields.get('date') ?? '', responseTime);
  const until = parseDate(expires, responseTime);
  return Number.isNaN(until) ? 0 : Math.max(0, (until - (Number.isNaN(date) ? responseTime : date)) / 1000);
}

/** That of `proxy_cache_valid`. */
function configuredLifetime({ status, validity }: ReceivedFields): number | undefined {
  const time = validity.get(status) ?? validity.get('any');
  return time === undefined ? undefined : time / 1000;
}

/** Undefined: such a response is not stored without a lifetime. */
function heuristicLifetime({ status, fields, responseTime }: ReceivedFields, control: CacheControl): number | undefined {
  if (!HEURISTIC.has(status) && !control.has('public')) return undefined;
  const modified = parseDate(fields.get('last-modified') ?? '', responseTime);
  const date = parseDate(fields.get('date') ?? '', responseTime);
  const since = ((Number.isNaN(date) ? responseTime : date) - modified) / 1000;
  return since > 0 ? Math.min(since * HEURISTIC_PART, HEURISTIC_LIMIT) : 0;
}
