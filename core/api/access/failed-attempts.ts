import { binaryAddress, plainAddress } from '../../contract/binary-address.js';
import { isIPv6 } from 'node:net';

/** Client addresses that are remembered; of more, the one that failed first is forgotten. */
const MOST_ADDRESSES = 10_000;
/** Bytes of an IPv6 address that one client chooses no others of: its /64. */
const V6_PREFIX = 8;

/** How many attempts a client has within a time. */
export interface AttemptLimit {
  readonly count: number;
  /** Milliseconds. */
  readonly ms: number;
}

interface Failures {
  count: number;
  /** Epoch milliseconds at which they are forgotten. */
  readonly until: number;
}

/** Failed attempts to authenticate, by client address. */
export class FailedAttempts {
  readonly #failures = new Map<string, Failures>();

  constructor(private readonly now: () => number = Date.now) {}

  get size(): number {
    return this.#failures.size;
  }

  /** Milliseconds until this client may try again; 0: now. */
  waitOf(address: string, { count }: AttemptLimit): number {
    const failures = this.#current(keyOf(address));
    return failures === undefined || failures.count < count ? 0 : failures.until - this.now();
  }

  add(address: string, { ms }: AttemptLimit): void {
    const key = keyOf(address);
    const failures = this.#current(key);
    if (failures !== undefined) {
      failures.count++;
      return;
    }
    this.#failures.set(key, { count: 1, until: this.now() + ms });
    if (this.#failures.size <= MOST_ADDRESSES) return;
    for (const first of this.#failures.keys()) {
      this.#failures.delete(first);
      return;
    }
  }

  #current(key: string): Failures | undefined {
    const failures = this.#failures.get(key);
    if (failures === undefined || failures.until > this.now()) return failures;
    this.#failures.delete(key);
    return undefined;
  }
}

/** A v4 client of a v6 socket is a v4 client. */
function keyOf(address: string): string {
  const plain = plainAddress(address);
  return isIPv6(plain) ? binaryAddress(plain).slice(0, V6_PREFIX) : plain;
}
