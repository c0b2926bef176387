import type { Block, Directive } from '../../core/module/tree.js';
import { memberAddress } from './address.js';

/**
 * The members of one group by key and by address, so that a call costs the same however many there are. Kept along with the changes that
 * are made here; made anew when the group was changed by something else (a reload).
 */
export class MemberIndex {
  #block: Block;
  readonly #byKey = new Map<number, Directive>();
  readonly #byAddress = new Map<string, number>();

  constructor(block: Block) {
    this.#block = block;
    for (const directive of block.named('server')) this.#enter(directive);
  }

  /** True if nothing else has changed the group. */
  isOf(block: Block): boolean {
    return this.#block === block;
  }

  get(key: number): Directive | undefined {
    return this.#byKey.get(key);
  }

  isAt(key: number, canonical: string): boolean {
    const directive = this.#byKey.get(key);
    return directive !== undefined && canonicalOf(directive) === canonical;
  }

  /** Key of the member at a canonical address. */
  at(canonical: string): number | undefined {
    return this.#byAddress.get(canonical);
  }

  /** Takes over what a transaction has done. */
  follow(block: Block, removed: Iterable<Directive>, added: Iterable<Directive>): void {
    this.#block = block;
    for (const directive of removed) this.#leave(directive);
    for (const directive of added) this.#enter(directive);
  }

  #enter(directive: Directive): void {
    if (directive.key === undefined) return;
    this.#byKey.set(directive.key, directive);
    const address = canonicalOf(directive);
    // A file may name an address twice; the first one is the one that is found.
    if (address !== undefined && !this.#byAddress.has(address)) this.#byAddress.set(address, directive.key);
  }

  #leave(directive: Directive): void {
    if (directive.key === undefined) return;
    this.#byKey.delete(directive.key);
    const address = canonicalOf(directive);
    if (address !== undefined && this.#byAddress.get(address) === directive.key) this.#byAddress.delete(address);
  }
}

/** Undefined for one that a file may have and the API may not (a port left out of a socket path …). */
function canonicalOf({ args }: Directive): string | undefined {
  try {
    return memberAddress(args[0]?.text ?? '').canonical;
  } catch {
    return undefined;
  }
}
