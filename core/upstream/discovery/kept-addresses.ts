import type { Log } from '../../module/services.js';
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

/** What is known of the addresses of a line. */
export interface KeptAddresses {
  /** The name that they are addresses of. */
  readonly name: string;
  /** Number of the next new address. */
  readonly next: number;
  readonly addresses: readonly NumberedAddress[];
}

/** Changes are collected for so long before they are written. Milliseconds. */
const WRITE_AFTER = 1000;

/** Remembers the addresses of names, so that a server that starts while no name server replies has members at once. */
export class AddressMemory {
  #store: AddressStore | undefined;
  readonly #kept = new Map<string, KeptAddresses>();
  /** Not written yet, by place. Undefined: the line is gone. */
  readonly #changes = new Map<string, { readonly place: Pick<KeptLine, 'upstream' | 'key'>; readonly kept: KeptAddresses | undefined }>();
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
    if (kept !== undefined) this.#kept.set(placeOf(place), kept);
    this.#changes.set(placeOf(place), { place, kept });
    this.#timer ??= setTimeout(() => this.flush(), WRITE_AFTER).unref();
  }

  /** Writes what has not been written yet. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#changes.size === 0) return;
    const changes = [...this.#changes.values()];
    this.#changes.clear();
    const changed = changes.flatMap(({ place, kept }) => (kept === undefined ? [] : { ...place, text: writeKept(kept) }));
    const gone = changes.flatMap(({ place, kept }) => (kept === undefined ? place : []));
    try {
      this.#store?.write(changed, gone);
    } catch (error) {
      this.log.write('warn', `addresses of names cannot be stored: ${(error as Error).message}`);
    }
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
