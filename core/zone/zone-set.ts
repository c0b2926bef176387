import { Zone } from './zone.js';
import { ZoneArena } from './zone-arena.js';

/** The memory of a zone on its way from the master to another thread. */
export interface ZoneShare {
  /** Grows with every zone that is made: a share with a new one is other memory, even under the same name. */
  readonly id: number;
  readonly name: string;
  readonly use: string;
  readonly identity: string;
  readonly buffer: SharedArrayBuffer;
  /** Its offset in the buffer. */
  readonly start: number;
  readonly size: number;
}

/** Where the zones of a thread come from: made here (master), taken over from the master (worker), private memory (a check of the configuration). */
export type ZoneSource = 'create' | 'adopt' | 'private';

interface Entry {
  readonly id: number;
  /** When it was last announced: an id of that moment. */
  announced: number;
  readonly zone: Zone;
  readonly use: string;
  readonly identity: string;
  users: number;
  /** Shared once more since it was last opened: it stays here without users, because it is about to have one. */
  awaited: boolean;
}

/**
 * The zones of one thread by name. The master makes them and hands their memory on with every prepare (`shares`), before another thread
 * opens them (`adopt`). Two generations of a name exist while a change of its size is under way.
 */
export class ZoneSet {
  readonly #entries = new Map<string, Entry>();
  readonly #byZone = new Map<Zone, Entry>();
  /** All that were announced from one id on, in that order. */
  #recent: { from: number; readonly entries: Entry[] } = { from: 1, entries: [] };
  #last = 0;
  readonly #arena = new ZoneArena();

  constructor(private readonly source: ZoneSource) {}

  /**
   * The zone of that name and size: the one in use or new memory. Each call is matched by one {@link close}.
   *
   * @param use what it is for, `upstream` or the directive's name: for another use it is another zone, as when a reload gives its name away
   * @param identity with another one it is another zone, even if name and size are the same
   * @throws Error in a worker if the master has not shared it
   */
  open(name: string, size: number, use: string, identity = ''): Zone {
    const known = this.#entries.get(keyOf(name, size, use, identity));
    if (known === undefined && this.source === 'adopt')
      throw new Error(`shared memory zone "${name}" has not been shared with this thread`);
    const entry = known ?? this.#add(++this.#last, this.#create(name, size, use), use, identity);
    entry.users++;
    entry.awaited = false;
    return entry.zone;
  }

  /** Gives up one use; the memory of a zone without users goes. True if others still use it. */
  close(zone: Zone): boolean {
    const entry = this.#byZone.get(zone);
    if (entry === undefined) return false;
    if (--entry.users > 0) return true;
    if (!entry.awaited) this.#remove(entry);
    return false;
  }

  /** Releases a zone that was adopted and never opened. No effect on one that has users. */
  forget(name: string, size: number, use: string, identity = ''): void {
    const entry = this.#entries.get(keyOf(name, size, use, identity));
    if (entry?.users === 0 && !entry.awaited) this.#remove(entry);
  }

  /**
   * A zone that is in use gets one more user within this thread, who does not open it. It is shared again with the other threads: one that
   * has closed it already would not find it.
   */
  announce(zone: Zone): void {
    const entry = this.#byZone.get(zone);
    if (entry === undefined) return;
    entry.awaited = false;
    this.#forgetRecent(entry);
    entry.announced = ++this.#last;
    this.#addRecent(entry);
  }

  /** Distinguishes a zone from others of its name, apart from its size: another program finds the same one by it. */
  useOf(zone: Zone): string {
    const entry = this.#byZone.get(zone);
    return `${entry?.use} ${entry?.identity}`;
  }

  /** Zones for another thread that has adopted everything up to the id `after`; 0: all. */
  shares(after = 0): ZoneShare[] {
    if (after === this.#last) return [];
    const shares: ZoneShare[] = [];
    for (const { id, announced, zone, use, identity } of after + 1 < this.#recent.from ? this.#entries.values() : this.#recent.entries)
      if (announced > after && zone.buffer instanceof SharedArrayBuffer)
        shares.push({ id, name: zone.name, use, identity, buffer: zone.buffer, start: zone.start, size: zone.size });
    return shares;
  }

  /** Takes over what the master shared. Zones it has already stay as they are. */
  adopt(shares: readonly ZoneShare[]): void {
    for (const { id, name, use, identity, buffer, start, size } of shares) {
      const known = this.#entries.get(keyOf(name, size, use, identity));
      if (known?.id === id) {
        known.awaited = true;
        continue;
      }
      if (known !== undefined) this.#remove(known);
      this.#add(id, Zone.attach(name, buffer, start, size), use, identity);
      this.#last = Math.max(this.#last, id);
    }
  }

  /** All zones; of a name whose size is being changed two. */
  *zones(): Generator<Zone> {
    for (const { zone } of this.#entries.values()) yield zone;
  }

  /** The newest zone known here, or the latest announcement: what to ask {@link shares} with. */
  get last(): number {
    return this.#last;
  }

  /** Frees the locks that a thread held when it died. Master only. */
  releaseOf(threadId: number): void {
    for (const { zone } of this.#entries.values()) zone.releaseOf(threadId);
  }

  /** There may be thousands of upstreams. */
  #create(name: string, size: number, use: string): Zone {
    return Zone.create(name, size, { shared: this.source === 'create', ...(use === 'upstream' && { arena: this.#arena }) });
  }

  #add(id: number, zone: Zone, use: string, identity: string): Entry {
    const entry = { id, announced: id, zone, use, identity, users: 0, awaited: false };
    this.#entries.set(keyOf(zone.name, zone.size, use, identity), entry);
    this.#byZone.set(zone, entry);
    this.#addRecent(entry);
    return entry;
  }

  #addRecent(entry: Entry): void {
    const { entries } = this.#recent;
    entries.push(entry);
    if (entries.length >= 2 * RECENT)
      this.#recent = { from: entries[RECENT]?.announced ?? entry.announced, entries: entries.slice(RECENT) };
  }

  #forgetRecent(entry: Entry): void {
    const { from, entries } = this.#recent;
    if (entry.announced >= from) this.#recent = { from, entries: entries.filter((one) => one !== entry) };
  }

  #remove(entry: Entry): void {
    const { zone, use, identity } = entry;
    this.#entries.delete(keyOf(zone.name, zone.size, use, identity));
    this.#byZone.delete(zone);
    this.#forgetRecent(entry);
  }
}

/** New zones that are at hand: other threads lag by few. */
const RECENT = 64;

const keyOf = (name: string, size: number, use: string, identity: string): string => `${size - (size % 8)} ${name} ${use} ${identity}`;
