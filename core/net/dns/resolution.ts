import type { ResolveErrorCode } from './resolve-error.js';

export type AddressFamily = 4 | 6;

export interface AddressRecord {
  /** Canonical text (RFC 5952), without brackets. */
  readonly address: string;
  readonly family: AddressFamily;
}

/** An SRV record (RFC 2782). */
export interface ServiceRecord {
  readonly target: string;
  readonly port: number;
  readonly priority: number;
  readonly weight: number;
}

/** Addresses of a name: immutable, and the same object for all users as long as it is cached. */
export interface Resolution<R> {
  /** Lower case, without the final dot. */
  readonly name: string;
  /** Empty without an error: the name exists and has no such records. */
  readonly records: readonly R[];
  /** With records: those of one address family could not be found. Without: the name could not be resolved. */
  readonly error: ResolveErrorCode | undefined;
  /** Address families that `records` are complete for. */
  readonly families: readonly AddressFamily[];
  /** Seconds for which this may be relied on: the TTL of the records, that of the SOA for what does not exist (RFC 2308), within bounds. */
  readonly ttl: number;
}

export interface FindOptions {
  /** Skips the cache, though not a search that is under way. */
  readonly fresh?: boolean;
}

/** Finds records by name. Errors are data: no promise rejects. */
export abstract class NameResolver {
  abstract addresses(name: string, options?: FindOptions): Promise<Resolution<AddressRecord>>;
  /** SRV records; their targets are not looked up. A target of `.` is left out. */
  abstract services(name: string, options?: FindOptions): Promise<Resolution<ServiceRecord>>;
  /** Addresses that are in the cache now. */
  abstract cached(name: string): Resolution<AddressRecord> | undefined;
  /** Ends what is under way, with the code `closed`. */
  abstract close(): void;
}
