import { isIP } from 'node:net';
import { plainBytes } from '../contract/binary-address.js';
import { Intervals, type Interval } from './geo-intervals.js';

/** 255.255.255.255: what nginx takes for everything that is not an address. */
const NO_ADDRESS = '\xff\xff\xff\xff';

/** The values of one `geo` block by address. */
export class GeoTable {
  readonly #ipv4: Intervals;
  /** Undefined: ranges are for IPv4 alone. */
  readonly #ipv6: Intervals | undefined;

  constructor(
    ipv4: Iterable<Interval>,
    ipv6: Iterable<Interval> | undefined,
    private readonly fallback: string,
  ) {
    this.#ipv4 = new Intervals(ipv4);
    this.#ipv6 = ipv6 && new Intervals(ipv6);
  }

  find(address: string): string {
    const bytes = isIP(address) === 0 ? NO_ADDRESS : plainBytes(address);
    if (bytes.length === 4) return this.#ipv4.find(bytes) ?? this.fallback;
    return (this.#ipv6 === undefined ? this.#ipv4.find(NO_ADDRESS) : this.#ipv6.find(bytes)) ?? this.fallback;
  }
}
