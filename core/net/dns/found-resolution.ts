import { RecordType } from './records.js';
import type { Found } from './record-search.js';
import type { AddressFamily, AddressRecord, Resolution, ServiceRecord } from './resolution.js';

/** Seconds that records are relied on, whatever their TTL. */
const LEAST_TTL = 1;
const MOST_TTL = 86_400;
/** Seconds that it is remembered that there are none, at most (RFC 2308, 5). */
const MOST_NEGATIVE_TTL = 300;
/** Seconds that a failure is remembered: the caller meanwhile need not wait for the same one (RFC 2308, 7). */
const FAILURE_TTL = 1;
/** Seconds that addresses of one family are relied on while those of the other cannot be found. */
const PARTIAL_TTL = 30;

/** A search that was too slow. */
const LATE: Found = { records: [], error: 'timedout', ttl: undefined };

/**
 * Addresses of a name. @param results the result of each of `families`; undefined: too late
 * @param valid seconds; undefined: the TTL counts
 */
export function addressResolution(
  name: string,
  families: readonly AddressFamily[],
  results: readonly (Found | undefined)[],
  valid: number | undefined,
): Resolution<AddressRecord> {
  const all = families.map((family, at) => ({ family, ...(results[at] ?? LATE) }));
  const records = all.flatMap(({ family, records }) => records.map(({ address = '' }) => ({ address, family })));
  const failure = all.find(({ error }) => error !== undefined && error !== 'nxdomain')?.error;
  const complete = all.filter(({ error }) => error === undefined || error === 'nxdomain').map(({ family }) => family);
  // A server that knows one family alone may say of the other that there is no such name.
  const error = failure ?? (all.every(({ error }) => error === 'nxdomain') ? 'nxdomain' : undefined);
  const found = all.filter(({ records }) => records.length > 0);
  if (found.length === 0) return { name, records, error, families: complete, ttl: negativeTtl(all, failure !== undefined, valid) };
  const ttl = positiveTtl(found, valid);
  return { name, records: distinct(records), error, families: complete, ttl: error === undefined ? ttl : Math.min(ttl, PARTIAL_TTL) };
}

/** Servers of a service. */
export function serviceResolution(name: string, found: Found, valid: number | undefined): Resolution<ServiceRecord> {
  const { error } = found;
  const records = found.records
    .filter(({ type }) => type === RecordType.SRV)
    .map(({ target = '', port = 0, priority = 0, weight = 0 }) => ({ target: target.toLowerCase(), port, priority, weight }))
    // RFC 2782: the service is decidedly not available.
    .filter(({ target, port }) => target !== '' && port !== 0);
  const ttl =
    found.records.length > 0 ? positiveTtl([found], valid) : negativeTtl([found], error !== undefined && error !== 'nxdomain', valid);
  return { name, records, error, families: [], ttl };
}

function positiveTtl(found: readonly Found[], valid: number | undefined): number {
  const least = Math.min(...found.map(({ ttl = LEAST_TTL }) => ttl));
  return valid ?? Math.min(Math.max(least, LEAST_TTL), MOST_TTL);
}

function negativeTtl(found: readonly Found[], hasFailed: boolean, valid = Infinity): number {
  if (hasFailed) return FAILURE_TTL;
  const least = Math.min(...found.map(({ ttl = LEAST_TTL }) => ttl));
  return Math.min(Math.max(least, LEAST_TTL), MOST_NEGATIVE_TTL, valid);
}

function distinct(records: readonly AddressRecord[]): readonly AddressRecord[] {
  return [...new Map(records.map((record) => [record.address, record])).values()];
}
