import { setTimeout as sleep } from 'node:timers/promises';
import { wordOf } from './offsets.js';
import type { Zone } from './zone.js';

const NAME = 'waiters';
/** Words: how many wait, then one for each slot, which changes when something of the slot has happened. */
const COUNT = 0;
const FIRST = 1;
const SLOTS = 64;
/** Where memory is not shared, or there is none for this, it is looked at again and again. Milliseconds. */
const POLL = 10;

/** Resolves when something has happened, or the time is over. It may do so for nothing. */
export type Wait = (signal?: AbortSignal) => Promise<void>;

/** Threads that wait for something under a key, without a thread that is blocked. All but the wait itself is called with the zone's lock held. */
export class Waiters {
  private constructor(
    private readonly zone: Zone,
    /** 0: the zone has no room. */
    private readonly offset: number,
  ) {}

  /** Waiters of a zone. Takes the lock itself. */
  static open(zone: Zone): Waiters {
    zone.enter();
    const offset = zone.directory.find(NAME) || Waiters.#create(zone);
    zone.leave();
    return new Waiters(zone, offset);
  }

  static #create(zone: Zone): number {
    const offset = zone.slab.calloc((FIRST + SLOTS) * 4);
    if (offset === 0 || zone.directory.add(NAME, offset)) return offset;
    zone.slab.release(offset);
    return 0;
  }

  /** Begins to wait: what happens from now on ends it. @param ms longest time */
  begin(key: string, ms: number): Wait {
    const { zone, offset } = this;
    if (offset === 0 || !zone.shared) return () => sleep(Math.max(0, Math.min(ms, POLL)));
    const slot = this.#slotOf(key);
    Atomics.add(zone.i32, wordOf(offset) + COUNT, 1);
    const { async, value } = Atomics.waitAsync(zone.i32, slot, Atomics.load(zone.i32, slot), Math.max(0, ms));
    return async (signal) => {
      try {
        if (async) await either(value, signal);
      } finally {
        Atomics.sub(zone.i32, wordOf(offset) + COUNT, 1);
      }
    };
  }

  /** Something has happened under a key. Costs one look without waiters. */
  wake(key: string | Uint8Array): void {
    const { zone, offset } = this;
    if (offset === 0 || Atomics.load(zone.i32, wordOf(offset) + COUNT) === 0) return;
    this.#wakeSlot(this.#slotOf(key));
  }

  wakeAll(): void {
    if (this.offset === 0) return;
    for (let slot = 0; slot < SLOTS; slot++) this.#wakeSlot(wordOf(this.offset) + FIRST + slot);
  }

  #wakeSlot(slot: number): void {
    Atomics.add(this.zone.i32, slot, 1);
    Atomics.notify(this.zone.i32, slot);
  }

  #slotOf(key: string | Uint8Array): number {
    const bytes = typeof key === 'string' ? Buffer.from(key) : key;
    let hash = 0;
    for (const byte of bytes) hash = (hash * 31 + byte) | 0;
    return wordOf(this.offset) + FIRST + (hash & (SLOTS - 1));
  }
}

/** Resolves when the promise does, or the signal is aborted. */
async function either(promise: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return void (await promise);
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => resolve(), { once: true });
  try {
    await Promise.race([promise, aborted]);
  } finally {
    resolve();
  }
}
