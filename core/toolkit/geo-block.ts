import { Networks, type Advice } from './geo-networks.js';
import { Ranges } from './geo-ranges.js';
import { GeoTable } from './geo-table.js';
import type { DefinitionContext } from '../contract/manifest.js';
import { parseClients, type Clients } from '../contract/network.js';
import { ArgError } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';

/** A `geo` block as it is looked up. */
export interface GeoBlock {
  readonly table: GeoTable;
  /** The addresses of trusted proxies; undefined: there are none. */
  readonly isProxy: Clients | undefined;
  readonly isRecursive: boolean;
  readonly isVolatile: boolean;
}

/**
 * Parses the entries of a `geo` block. An invalid entry rejects the configuration there.
 * @param hasProxies entries may name trusted proxies: where requests have fields with the addresses of their clients
 */
export function readGeoBlock(entries: Iterable<Directive>, context: DefinitionContext<never>, hasProxies: boolean): GeoBlock {
  const reader = new GeoReader(context, hasProxies);
  for (const entry of entries) reader.read(entry);
  return reader.block();
}

const HINT = 'an entry is written: network value;';

class GeoReader {
  readonly #networks = new Networks();
  readonly #proxies: Clients[] = [];
  /** Undefined: the block has networks. */
  #ranges: Ranges | undefined;
  /** The value of `default` beside ranges. */
  #fallback: string | undefined;
  #isRecursive = false;
  #isVolatile = false;
  #hasEntries = false;
  /** Equal values are one string, as there may be many networks of few values. */
  readonly #values = new Map<string, string>();

  constructor(
    private readonly context: DefinitionContext<never>,
    private readonly hasProxies: boolean,
  ) {}

  read(entry: Directive): void {
    const { name, args } = entry;
    const [word, ...more] = args;
    if (word === undefined && this.#readSwitch(entry)) return;
    if (word === undefined || more.length > 0) return this.context.fail('invalid number of the geo parameters', entry, HINT);
    const advise: Advice = (message) => this.context.advise(message, entry);
    if (name === 'proxy' && this.hasProxies) return this.#readProxy(entry, word.text, advise);
    this.#hasEntries = true;
    if (this.#ranges === undefined) this.#readNetwork(entry, word.text, advise);
    else this.#readRange(entry, this.#ranges, word.text, advise);
  }

  block(): GeoBlock {
    const ranges = this.#ranges;
    const proxies = this.#proxies;
    return {
      table:
        ranges === undefined
          ? new GeoTable(this.#networks.ipv4, this.#networks.ipv6, '')
          : new GeoTable(ranges.intervals(), undefined, this.#fallback ?? ''),
      isProxy: proxies.length === 0 ? undefined : (address) => proxies.some((isProxy) => isProxy(address)),
      isRecursive: this.#isRecursive,
      isVolatile: this.#isVolatile,
    };
  }

  /** @returns false if it is not a word without a value */
  #readSwitch(entry: Directive): boolean {
    if (entry.name === 'ranges') this.#readRanges(entry);
    else if (entry.name === 'proxy_recursive' && this.hasProxies) this.#isRecursive = true;
    else if (entry.name === 'volatile') this.#isVolatile = true;
    else return false;
    return true;
  }

  #readRanges(entry: Directive): void {
    if (this.#ranges === undefined && this.#hasEntries)
      this.context.fail('the "ranges" directive must be the first directive inside "geo" block', entry);
    this.#ranges ??= new Ranges();
  }

  #readProxy(entry: Directive, network: string, advise: Advice): void {
    try {
      this.#proxies.push(parseClients(network, advise));
    } catch (error) {
      if (error instanceof ArgError) this.context.fail(`invalid network "${network}"`, entry, error.hint);
      throw error;
    }
  }

  #readNetwork(entry: Directive, word: string, advise: Advice): void {
    const isDelete = entry.name === 'delete';
    const network = isDelete ? word : entry.name;
    const isKnown = isDelete ? this.#networks.delete(network, advise) : this.#networks.add(network, this.#value(word), advise);
    if (!isKnown) this.context.fail(`invalid network "${network}"`, entry, 'an address, or a network such as 10.0.0.0/8 or 2001:db8::/32');
  }

  #readRange(entry: Directive, ranges: Ranges, word: string, advise: Advice): void {
    if (entry.name === 'default') {
      if (this.#fallback !== undefined) advise(`duplicate default geo range value: "${word}", old value: "${this.#fallback}"`);
      this.#fallback = this.#value(word);
      return;
    }
    const reason = entry.name === 'delete' ? ranges.delete(word, advise) : ranges.add(entry.name, this.#value(word), advise);
    if (reason !== undefined) this.context.fail(reason, entry, 'a range is written: 10.0.0.0-10.0.0.255');
  }

  /** Values of requests are strings of bytes. */
  #value(text: string): string {
    const known = this.#values.get(text);
    if (known !== undefined) return known;
    const value = Buffer.from(text).latin1Slice();
    this.#values.set(text, value);
    return value;
  }
}
