import { parseNetwork, type Network } from '../contract/network.js';
import type { Interval } from './geo-intervals.js';

/** Both ends of all addresses, which is what `default` means. */
const ALL = ['0.0.0.0/0', '::/0'];

/** Reason why an entry is invalid, for the message. */
export type Advice = (message: string) => void;

/** The networks of a `geo` block. A later entry for the same network replaces the earlier one. */
export class Networks {
  readonly #ipv4 = new Map<string, Interval>();
  readonly #ipv6 = new Map<string, Interval>();

  get ipv4(): Iterable<Interval> {
    return this.#ipv4.values();
  }

  get ipv6(): Iterable<Interval> {
    return this.#ipv6.values();
  }

  /** @returns false if `text` is not a network */
  add(text: string, value: string, advise: Advice): boolean {
    const networks = networksOf(text, advise);
    const old = networks.map((network) => this.#put(network, value)).find((replaced) => replaced !== undefined);
    if (old !== undefined) advise(`duplicate network "${text}", value: "${value}", old value: "${old.value}"`);
    return networks.length > 0;
  }

  /** @returns false if `text` is not a network */
  delete(text: string, advise: Advice): boolean {
    const networks = networksOf(text, advise);
    const isDeleted = networks.map((network) => this.#of(network).delete(keyOf(network))).includes(true);
    if (networks.length > 0 && !isDeleted) advise(`no network "${text}" to delete`);
    return networks.length > 0;
  }

  /** @returns what it replaces */
  #put(network: Network, value: string): Interval | undefined {
    const networks = this.#of(network);
    const key = keyOf(network);
    const old = networks.get(key);
    networks.set(key, { first: network.first, last: network.last, value });
    return old;
  }

  #of({ family }: Network): Map<string, Interval> {
    return family === 'ipv4' ? this.#ipv4 : this.#ipv6;
  }
}

function keyOf({ first, prefix }: Network): string {
  return first + String.fromCharCode(prefix);
}

/** None: `text` is not a network. */
function networksOf(text: string, advise: Advice): Network[] {
  const networks = (text === 'default' ? ALL : [text]).map(parseNetwork).filter((network) => network !== undefined);
  if (networks[0]?.hasHostBits === true) advise(`low address bits of ${text} are meaningless`);
  return networks;
}
