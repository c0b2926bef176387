import type { Log } from '../../contract/log.js';
import { foundOf, foundText, type NumberedAddress } from './found-address.js';

/** The last addresses of a `server` line, as they outlive the process. */
export interface KeptLine {
  /** The engine and the name of the upstream: `http shop`. */
  readonly upstream: string;
  /** Lasting identity of the line. */
  readonly key: number;
  /** JSON. */
  readonly text: string;
}

/** Where they are. */
export interface AddressStore {
  lines(): Iterable<KeptLine>;
  /** @throws Error if they cannot be written */
  write(changed: readonly KeptLine[], gone: readonly Pick<KeptLine, 'upstream' | 'key'>[]): void;
}

/** Addresses of a line. */
export interface KeptAddresses {
  /** The name that they are addresses of. */
  readonly name: string;
  /** Number of the next new address. */
  readonly next: number;
  readonly addresses: readonly NumberedAddress[];
}

/** One write in so long, as far as possible: changes that come sooner are collected. Milliseconds. */
const WRITE_AFTER = 1000;
/** Numbers that a write reserves for addresses to come. */
const RESERVED = 64;

/**
 * Remembers the addresses of names, so that a server that starts while no name server replies has members at once. Numbers of addresses are
 * reserved on disk before one is active: what is killed gives none of them to another address when it starts again.
 */
export class AddressMemory {
  #store: AddressStore | undefined;
  readonly #kept = new Map<string, KeptAddresses>();
  /** Not written yet, by place. Undefined: the line is gone. */
  readonly #changes = new Map<string, { readonly place: Pick<KeptLine, 'upstream' | 'key'>; readonly kept: KeptAddresses | undefined }>();
  /** By place: numbers up to this one are reserved on disk. */
  readonly #reserved = new Map<string, number>();
  /** A number is used that is not reserved. */
  #isShort = false;
  #hasFailed = false;
  /** Monotonic milliseconds. */
  #writtenAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly log: Pick<Log, 'write'>) {}

  open(store: AddressStore): void {
    this.#store = store;
    for (const line of store.lines()) {
      const kept = readKept(line.text);
      if (kept !== undefined) this.#kept.set(placeOf(line), kept);
    }
  }

  get(upstream: string, key: number): KeptAddresses | undefined {
    return this.#kept.get(placeOf({ upstream, key }));
  }

  /** @param kept undefined: there is no such line any more */
  set(upstream: string, key: number, kept: KeptAddresses | undefined): void {
    const place = { upstream, key };
    if (kept === undefined && !this.#kept.delete(placeOf(place))) return;
    if (kept !== undefined) {
      this.#kept.set(placeOf(place), kept);
      if (!this.#isReserved(placeOf(place), kept.next)) this.#isShort = true;
    }
    this.#changes.set(placeOf(place), { place, kept });
    this.#timer ??= setTimeout(() => this.flush(), WRITE_AFTER).unref();
  }

  /** Called before changes take effect: writes them, unless others have just been written and their numbers are reserved. */
  settle(): void {
    const isQuiet = performance.now() - this.#writtenAt >= WRITE_AFTER;
    if (isQuiet || (this.#isShort && !this.#hasFailed)) this.flush();
  }

  /** Writes what has not been written yet. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#changes.size === 0) return;
    const changes = [...this.#changes.values()];
    this.#changes.clear();
    this.#isShort = false;
    this.#writtenAt = performance.now();
    const changed = changes.flatMap(({ place, kept }) => (kept === undefined ? [] : { ...place, text: this.#write(placeOf(place), kept) }));
    const gone = changes.flatMap(({ place, kept }) => (kept === undefined ? place : []));
    try {
      this.#store?.write(changed, gone);
      this.#hasFailed = false;
    } catch (error) {
      this.#hasFailed = true;
      this.#reserved.clear();
      this.log.write('warn', `addresses of names cannot be stored: ${(error as Error).message}`);
    }
  }

  /** @param next see {@link KeptAddresses.next} */
  #isReserved(place: string, next: number): boolean {
    const reserved = this.#reserved.get(place) ?? 0;
    // They begin with 1 again when all have been used.
    return next <= reserved && next > reserved - RESERVED;
  }

  #write(place: string, kept: KeptAddresses): string {
    if (!this.#isReserved(place, kept.next)) this.#reserved.set(place, kept.next + RESERVED - 1);
    return writeKept({ ...kept, next: this.#reserved.get(place)! });
  }
}

const placeOf = ({ upstream, key }: Pick<KeptLine, 'upstream' | 'key'>): string => `${key} ${upstream}`;

function writeKept({ name, next, addresses }: KeptAddresses): string {
  return JSON.stringify({ name, next, addresses: addresses.map(({ index, found }) => [index, foundText(found)]) });
}

/** Undefined for what another version has written. */
function readKept(text: string): KeptAddresses | undefined {
  try {
    const { name, next, addresses } = JSON.parse(text) as { name: string; next: number; addresses: readonly [number, string][] };
    return { name, next, addresses: addresses.map(([index, address]) => ({ index, found: foundOf(address) })) };
  } catch {
    return undefined;
  }
}
