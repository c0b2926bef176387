import { Zone } from './zone.js';

/** The memory of a zone on its way from the master to another thread. */
export interface ZoneShare {
  /** Grows with every zone that is made: a share with a new one is other memory, even under the same name. */
  readonly id: number;
  readonly name: string;
  readonly use: string;
  readonly buffer: SharedArrayBuffer;
}

/** Where the zones of a thread come from: made here (master), taken over from the master (worker), private memory (a check of the configuration). */
export type ZoneSource = 'create' | 'adopt' | 'private';

/** Two directives want one zone for different things. In nginx's words. */
export class ZoneUseError extends Error {
  constructor(name: string) {
    super(`the shared memory zone "${name}" is already declared for a different use`);
  }
}

interface Entry {
  readonly id: number;
  readonly zone: Zone;
  readonly use: string;
  users: number;
}

/**
 * The zones of one thread by name. The master makes them and hands their memory on with every prepare (`shares`), before another thread
 * opens them (`adopt`). Two generations of a name stand beside each other while a change of its size is under way.
 */
export class ZoneSet {
  readonly #entries = new Map<string, Entry>();
  #last = 0;

  constructor(private readonly source: ZoneSource) {}

  /**
   * The zone of that name and size: the one in use or new memory. Each call is matched by one {@link close}.
   *
   * @param use what it is for, `upstream` or the directive's name: a zone has one purpose
   * @throws ZoneUseError if it is used for something else; Error in a worker if the master has not shared it
   */
  open(name: string, size: number, use: string): Zone {
    const key = keyOf(name, size);
    let entry = this.#entries.get(key);
    if (!entry) {
      if (this.source === 'adopt') throw new Error(`shared memory zone "${name}" has not been shared with this thread`);
      entry = { id: ++this.#last, zone: Zone.create(name, size, { shared: this.source === 'create' }), use, users: 0 };
      this.#entries.set(key, entry);
    }
    if (entry.use !== use) throw new ZoneUseError(name);
    entry.users++;
    return entry.zone;
  }

  /** Gives up one use; the memory of a zone without users goes. True if others still use it. */
  close(zone: Zone): boolean {
    for (const [key, entry] of this.#entries) {
      if (entry.zone !== zone) continue;
      if (--entry.users > 0) return true;
      this.#entries.delete(key);
      return false;
    }
    return false;
  }

  /** What another thread needs that has adopted everything up to the id `after`; 0: all. */
  shares(after = 0): ZoneShare[] {
    const shares: ZoneShare[] = [];
    for (const { id, zone, use } of this.#entries.values())
      if (id > after && zone.buffer instanceof SharedArrayBuffer) shares.push({ id, name: zone.name, use, buffer: zone.buffer });
    return shares;
  }

  /** Takes over what the master shared. Zones it has already stay as they are. */
  adopt(shares: readonly ZoneShare[]): void {
    for (const { id, name, use, buffer } of shares) {
      const key = keyOf(name, buffer.byteLength);
      if (this.#entries.get(key)?.id === id) continue;
      this.#entries.set(key, { id, zone: Zone.attach(name, buffer), use, users: 0 });
      this.#last = Math.max(this.#last, id);
    }
  }

  /** The newest zone known here: what to ask {@link shares} with. */
  get last(): number {
    return this.#last;
  }

  /** Frees the locks that a thread held when it died. Master only. */
  releaseOf(threadId: number): void {
    for (const { zone } of this.#entries.values()) zone.releaseOf(threadId);
  }
}

const keyOf = (name: string, size: number) => `${size - (size % 8)} ${name}`;
