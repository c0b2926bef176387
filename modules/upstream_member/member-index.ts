import type { Block, Directive } from '../../core/contract/tree.js';
import { memberAddress } from './address.js';

/**
 * The members of one upstream by key and by address, so that a call costs the same however many there are. Kept along with the changes that
 * are made here; made again when the upstream was changed by something else (a reload).
 */
export class MemberIndex {
  #block: Block;
  readonly #byKey = new Map<number, Directive>();
  readonly #byAddress = new Map<string, number>();
  /** Keys of further members at an address: a file may name it more than once. */
  readonly #duplicates = new Map<string, Set<number>>();

  constructor(block: Block) {
    this.#block = block;
    for (const directive of block.named('server')) this.#enter(directive);
  }

  /** True if nothing else has changed the upstream. */
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
    // Made for a later change of the same group, the index has this one already.
    if (address === undefined || this.#byAddress.get(address) === directive.key) return;
    // The first one is the one that is found.
    if (!this.#byAddress.has(address)) this.#byAddress.set(address, directive.key);
    else this.#duplicates.set(address, (this.#duplicates.get(address) ?? new Set()).add(directive.key));
  }

  #leave(directive: Directive): void {
    if (directive.key === undefined) return;
    this.#byKey.delete(directive.key);
    const address = canonicalOf(directive);
    if (address !== undefined) this.#free(address, directive.key);
  }

  /** The address is taken as long as one of its members is left. */
  #free(address: string, key: number): void {
    const duplicates = this.#duplicates.get(address);
    if (this.#byAddress.get(address) === key) {
      const [next] = duplicates ?? [];
      if (next === undefined) this.#byAddress.delete(address);
      else this.#byAddress.set(address, next);
      duplicates?.delete(next ?? key);
    } else duplicates?.delete(key);
    if (duplicates?.size === 0) this.#duplicates.delete(address);
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
