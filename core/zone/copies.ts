import type { Copies, FoundCopy } from '../contract/zones.js';
import { blockOf, CopyRing, RING_WORDS } from './copy-ring.js';
import { wordOf } from './offsets.js';
import { Slab } from './slab.js';
import { HEADER_BYTES } from './zone-layout.js';
import type { Zone } from './zone.js';

/** Words of the head: places, ghosts, the two rings, and what is counted. */
const Head = {
  epoch: 0,
  buckets: 1,
  places: 2,
  ghosts: 3,
  ticket: 4,
  count: 5,
  bytes: 6,
  full: 7,
  young: 8,
  old: 8 + RING_WORDS,
  BYTES: 128,
} as const;
/**
 * Words of a place, which says where a copy is. `version` is odd while it can be read: a reader looks at it before and after. Only with the
 * lock of the zone it is changed, and it is even before anything else about the copy is. `ticket` is that of a copy that is still being offered.
 */
const Place = { version: 0, offset: 1, length: 2, uses: 3, ticket: 4, name: 5, WORDS: 9 } as const;
const NAME_WORDS = 4;
/** In the directory of the zone, and the bytes that are left for that. */
const NAME = 'copies';
const SPARE = 256;
const WAYS = 8;
/** Bytes of copies for which there is a place: fewer than most copies have, so that hardly any finds its bucket full. */
const BYTES_A_PLACE = 640;
/** Bytes of the longest copy. */
const LONGEST = 32_768;
/** Share of the memory for copies that have not been used again yet. */
const YOUNG = 0.1;
/** Uses that are counted at most: one that is in use all the time is not written to any more. */
const MOST_USES = 3;
/** Uses since it came for which a copy is kept when it leaves the young ones. */
const KEPT_USES = 2;
/** Bytes that are moved at most to make room for one copy: then the oldest goes, however often it was used. */
const MOST_MOVED = 524_288;

/**
 * Copies of bytes by name, in memory that all threads share (S3-FIFO). New ones are in a small ring; one that was used twice there, or whose name left the ring
 * lately and comes again, gets into the large ring, in whose order one that was used stays for another round. Readers take no lock.
 *
 * A thread that dies while it changes something leaves the lock broken: then everything is dropped.
 */
export class ZoneCopies implements Copies {
  readonly #young: CopyRing;
  readonly #old: CopyRing;
  readonly #bytes: Buffer;
  readonly #name = new Uint32Array(NAME_WORDS);
  /** Of this thread alone. */
  readonly #fence = new Int32Array(1);
  /** A copy on its way from one place to another. */
  readonly #moving = [Buffer.allocUnsafeSlow(LONGEST), Buffer.allocUnsafeSlow(LONGEST)] as const;
  #moved = 0;

  private constructor(
    private readonly zone: Zone,
    /** Index of its head in the words of the zone. */
    private readonly head: number,
  ) {
    this.#young = new CopyRing(zone, head + Head.young);
    this.#old = new CopyRing(zone, head + Head.old);
    this.#bytes = Buffer.from(zone.buffer, zone.start, zone.size);
  }

  /** Bytes of a zone whose copies, with all that is about them, take `bytes`. */
  static zoneSize(bytes: number): number {
    return HEADER_BYTES + Slab.cost(bytes) + SPARE;
  }

  /** The copies in a zone; made if there are none. Undefined: it is too small. @param bytes as in {@link zoneSize} */
  static open(zone: Zone, bytes: number): ZoneCopies | undefined {
    zone.enter();
    try {
      const head = zone.directory.find(NAME) || ZoneCopies.#create(zone, bytes);
      return head === 0 ? undefined : new ZoneCopies(zone, wordOf(head));
    } finally {
      zone.leave();
    }
  }

  /** The memory is new: it is all zeros, and provided where it is used. */
  static #create(zone: Zone, bytes: number): number {
    const head = zone.slab.alloc(bytes);
    if (head === 0 || !zone.directory.add(NAME, head)) return 0;
    const buckets = Math.max(1, Math.floor(bytes / (WAYS * BYTES_A_PLACE)));
    const places = head + Head.BYTES;
    const ghosts = places + buckets * WAYS * Place.WORDS * 4;
    const rings = (ghosts + buckets * WAYS * 4 + 7) & ~7;
    const room = head + bytes - rings;
    if (room < 2 * blockOf(0)) return 0;
    const words = wordOf(head);
    const { u32 } = zone;
    u32.fill(0, words, words + Head.BYTES / 4);
    u32[words + Head.epoch] = zone.epoch;
    u32[words + Head.buckets] = buckets;
    u32[words + Head.places] = wordOf(places);
    u32[words + Head.ghosts] = wordOf(ghosts);
    const young = (room * YOUNG) & ~7;
    new CopyRing(zone, words + Head.young).format(rings, young);
    new CopyRing(zone, words + Head.old).format(rings + young, (room - young) & ~7);
    return head;
  }

  get count(): number {
    return this.zone.u32[this.head + Head.count]!;
  }

  get bytes(): number {
    return this.zone.u32[this.head + Head.bytes]!;
  }

  get longest(): number {
    return Math.min(LONGEST, this.#young.capacity - blockOf(0));
  }

  find(name: string): FoundCopy | undefined {
    const { i32, u32 } = this.zone;
    this.#read(name);
    const bucket = this.#bucket();
    for (let place = bucket; place < bucket + WAYS * Place.WORDS; place += Place.WORDS) {
      const version = Atomics.load(i32, place);
      if ((version & 1) === 0 || !this.#isNamed(place)) continue;
      const length = u32[place + Place.length]!;
      return this.#isStill(place, version) ? { place, version, length } : undefined;
    }
    return undefined;
  }

  read({ place, version, length }: FoundCopy, from: number, into: Buffer): boolean {
    const { i32, u32 } = this.zone;
    if (Atomics.load(i32, place) !== version) return false;
    const offset = u32[place + Place.offset]!;
    this.#bytes.copy(into, 0, offset + from, offset + length);
    if (!this.#isStill(place, version)) return false;
    // Another copy may have the place now: then that one has a use too many.
    if (u32[place + Place.uses]! < MOST_USES) u32[place + Place.uses]!++;
    return true;
  }

  offer(name: string, bytes: Uint8Array, isValid: () => boolean): void {
    if (bytes.length > this.longest) return;
    const ticket = this.#reserve(name, bytes);
    if (ticket === undefined) return;
    let valid = false;
    try {
      valid = isValid();
    } finally {
      this.#settle(ticket, valid);
    }
  }

  drop(name: string): void {
    this.#enter();
    this.#read(name);
    const place = this.#placeOf();
    if (place !== 0) this.#free(place);
    this.zone.leave();
  }

  /** A copy that cannot be found yet. */
  #reserve(name: string, bytes: Uint8Array): { readonly place: number; readonly ticket: number } | undefined {
    const { u32 } = this.zone;
    this.#enter();
    try {
      this.#read(name);
      if (this.#placeOf() !== 0) return undefined;
      this.#moved = 0;
      const place = this.#freePlace();
      const offset = this.#room(bytes.length, place);
      if (offset === 0) return undefined;
      this.zone.bytes.set(bytes, offset);
      u32[place + Place.offset] = offset;
      u32[place + Place.length] = bytes.length;
      u32[place + Place.uses] = 0;
      u32.set(this.#name, place + Place.name);
      const ticket = (u32[this.head + Head.ticket] = (u32[this.head + Head.ticket]! + 1) >>> 0 || 1);
      u32[place + Place.ticket] = ticket;
      u32[this.head + Head.count]!++;
      u32[this.head + Head.bytes]! += bytes.length;
      return { place, ticket };
    } finally {
      this.zone.leave();
    }
  }

  #settle({ place, ticket }: { readonly place: number; readonly ticket: number }, isValid: boolean): void {
    const { u32 } = this.zone;
    this.#enter();
    if (u32[place + Place.ticket] === ticket) {
      u32[place + Place.ticket] = 0;
      if (isValid) this.#show(place);
      else this.#free(place);
    }
    this.zone.leave();
  }

  /** Offset for a new copy. */
  #room(length: number, place: number): number {
    const direct = this.#wasThere() ? this.#roomInOld(length, place) : this.#unusedRoom(length, place);
    if (direct !== 0) return direct;
    for (;;) {
      const offset = this.#young.add(length, place);
      if (offset !== 0) return offset;
      const first = this.#young.first;
      if (first === 0) return 0;
      const owner = this.#young.ownerOf(first);
      if (!this.#isOf(owner, first)) this.#young.dropFirst();
      else if (this.zone.u32[owner + Place.uses]! >= KEPT_USES && this.#isShown(owner)) this.#promote(owner, first);
      else {
        this.#remember(owner);
        this.#free(owner);
        this.#young.dropFirst();
      }
    }
  }

  /** Among the old ones, none of which had to go yet. */
  #unusedRoom(length: number, place: number): number {
    return this.zone.u32[this.head + Head.full] === 0 ? this.#old.add(length, place) : 0;
  }

  /** From the young to the old ones. */
  #promote(place: number, content: number): void {
    const { u32 } = this.zone;
    const length = u32[place + Place.length]!;
    const [moving] = this.#moving;
    this.#lift(place, content, moving);
    this.#young.dropFirst();
    const offset = this.#roomInOld(length, place);
    if (offset === 0) this.#free(place);
    else this.#lay(place, offset, moving, 0);
  }

  /** Room among the old ones, the first of which goes, or gets another round if it was used. */
  #roomInOld(length: number, place: number): number {
    const { u32 } = this.zone;
    for (;;) {
      const offset = this.#old.add(length, place);
      if (offset !== 0) return offset;
      u32[this.head + Head.full] = 1;
      const first = this.#old.first;
      if (first === 0) return 0;
      const owner = this.#old.ownerOf(first);
      if (this.#isOf(owner, first)) {
        const uses = u32[owner + Place.uses]!;
        if (uses > 0 && this.#moved < MOST_MOVED && this.#isShown(owner)) {
          const [, moving] = this.#moving;
          this.#lift(owner, first, moving);
          this.#old.dropFirst();
          // The copy has left so much room.
          this.#lay(owner, this.#old.add(u32[owner + Place.length]!, owner), moving, uses - 1);
          continue;
        }
        this.#free(owner);
      }
      this.#old.dropFirst();
    }
  }

  #lift(place: number, content: number, into: Buffer): void {
    const { i32, u32 } = this.zone;
    Atomics.add(i32, place, 1);
    const length = u32[place + Place.length]!;
    this.#moved += length;
    this.#bytes.copy(into, 0, content, content + length);
  }

  #lay(place: number, offset: number, from: Buffer, uses: number): void {
    const { u32 } = this.zone;
    from.copy(this.#bytes, offset, 0, u32[place + Place.length]);
    u32[place + Place.offset] = offset;
    u32[place + Place.uses] = uses;
    this.#show(place);
  }

  #show(place: number): void {
    Atomics.add(this.zone.i32, place, 1);
  }

  #free(place: number): void {
    const { i32, u32 } = this.zone;
    if (this.#isShown(place)) Atomics.add(i32, place, 1);
    u32[this.head + Head.count]!--;
    u32[this.head + Head.bytes]! -= u32[place + Place.length]!;
    u32.fill(0, place + Place.offset, place + Place.WORDS);
  }

  /** A place of the name's bucket for a new copy: the one that was used least goes. */
  #freePlace(): number {
    const { u32 } = this.zone;
    const bucket = this.#bucket();
    let least = bucket;
    for (let place = bucket; place < bucket + WAYS * Place.WORDS; place += Place.WORDS) {
      if (u32[place + Place.offset] === 0) return place;
      if (u32[place + Place.uses]! < u32[least + Place.uses]!) least = place;
    }
    this.#free(least);
    return least;
  }

  /** The place with the name, also of a copy that is being offered; 0: there is none. */
  #placeOf(): number {
    const bucket = this.#bucket();
    for (let place = bucket; place < bucket + WAYS * Place.WORDS; place += Place.WORDS)
      if (this.zone.u32[place + Place.offset] !== 0 && this.#isNamed(place)) return place;
    return 0;
  }

  #bucket(): number {
    const { u32 } = this.zone;
    return u32[this.head + Head.places]! + (this.#name[0]! % u32[this.head + Head.buckets]!) * WAYS * Place.WORDS;
  }

  #isNamed(place: number): boolean {
    const { u32 } = this.zone;
    for (let at = 0; at < NAME_WORDS; at++) if (u32[place + Place.name + at] !== this.#name[at]) return false;
    return true;
  }

  #isShown(place: number): boolean {
    return (this.zone.u32[place]! & 1) === 1;
  }

  /** The block is that of the copy, which may be elsewhere or gone. */
  #isOf(place: number, content: number): boolean {
    return this.zone.u32[place + Place.offset] === content;
  }

  /** True if what was read since the version was read is whole. */
  #isStill(place: number, version: number): boolean {
    // The reads before it are not done after it.
    Atomics.add(this.#fence, 0, 1);
    return Atomics.load(this.zone.i32, place) === version;
  }

  /** Remembers the name of a copy that goes, until that of another one takes its place. */
  #remember(place: number): void {
    const { u32 } = this.zone;
    u32[this.#ghostOf(u32[place + Place.name + 1]!)] = u32[place + Place.name + 2]! | 1;
  }

  #wasThere(): boolean {
    const { u32 } = this.zone;
    const ghost = this.#ghostOf(this.#name[1]!);
    if (u32[ghost] !== (this.#name[2]! | 1) >>> 0) return false;
    u32[ghost] = 0;
    return true;
  }

  #ghostOf(word: number): number {
    const { u32 } = this.zone;
    return u32[this.head + Head.ghosts]! + (word % (u32[this.head + Head.buckets]! * WAYS));
  }

  #read(name: string): void {
    for (let at = 0; at < NAME_WORDS; at++) this.#name[at] = Number.parseInt(name.slice(at * 8, at * 8 + 8), 16);
  }

  #enter(): void {
    const { zone } = this;
    zone.enter();
    if (zone.u32[this.head + Head.epoch] !== zone.epoch) this.#clear();
  }

  /** After a thread died in the lock. */
  #clear(): void {
    const { i32, u32 } = this.zone;
    const { head } = this;
    const first = u32[head + Head.places]!;
    const end = first + u32[head + Head.buckets]! * WAYS * Place.WORDS;
    for (let place = first; place < end; place += Place.WORDS) {
      if (u32[place + Place.offset] === 0 && !this.#isShown(place)) continue;
      if (this.#isShown(place)) Atomics.add(i32, place, 1);
      u32.fill(0, place + Place.offset, place + Place.WORDS);
    }
    this.#young.clear();
    this.#old.clear();
    u32[head + Head.count] = u32[head + Head.bytes] = u32[head + Head.full] = 0;
    u32[head + Head.epoch] = this.zone.epoch;
  }
}
