/** The disk of a cache: which of its calls a worker may make itself. */
import { statfs } from 'node:fs/promises';
import type { Holds, Records } from '../../core/contract/zones.js';
import { WaitBudget } from './wait-budget.js';

/**
 * File systems of this machine, by their numbers in linux/magic.h: bcachefs, btrfs, ext2 to ext4, f2fs, overlay, ramfs, tmpfs, xfs, zfs. Files that
 * were just used are in memory there. Others ask another machine, or a program (FUSE), for each file that is opened.
 */
const LOCAL = new Set([0xca451a4e, 0x9123683e, 0xef53, 0xf2f52010, 0x794c7630, 0x858458f6, 0x01021994, 0x58465342, 0x2fc12fc1]);
/** Milliseconds for which a look at the file system counts: it must end more often than that. */
const LOOK_COUNTS = 60_000;
/** Milliseconds for which a worker believes what it has read of the last look. */
const BELIEVED = 1000;
/** Milliseconds after a write for which it is believed that the disk responds. */
const RESPONDS = 10_000;
/** Held by the worker that writes. */
const WRITING = 'writing';

/** The one record of a cache, which has the last look. */
type Looks = Pick<Records<'local'>, 'get' | 'update'>;

/**
 * Workers open files that were used lately and write short ones themselves, which costs less than a switch of threads, where the file system is a local one
 * and has responded in time. Of all workers one at a time writes: a disk that stops to respond holds one of them at most. Other threads do everything else.
 */
export class CacheDisk {
  readonly #waits = new WaitBudget();
  #isLocal = false;
  /** On the clock of performance.now(). */
  #believedUntil = 0;
  /** The main thread has made the folder. */
  #responded = performance.now();

  constructor(
    private readonly looks: Looks,
    private readonly record: string,
    private readonly holds: Pick<Holds, 'acquire' | 'release'>,
  ) {}

  /** In the main thread, again and again: which file system the folder is on. @throws (rejects) Error of the system */
  async look(folder: string): Promise<void> {
    // Some of the numbers are negative for Node.js.
    const { type } = await statfs(folder);
    const local = LOCAL.has(type >>> 0) ? Date.now() + LOOK_COUNTS : 0;
    this.looks.update(
      this.record,
      (fields) => {
        fields.local = local;
        return true;
      },
      undefined,
    );
  }

  /** False: other threads read. */
  get mayRead(): boolean {
    return !this.#waits.isSpent && this.isLocal;
  }

  /** The file system is one of this machine, which has itself been heard of lately. */
  get isLocal(): boolean {
    const now = performance.now();
    if (now >= this.#believedUntil) {
      this.#believedUntil = now + BELIEVED;
      this.#isLocal = (this.looks.get(this.record)?.local ?? 0) > Date.now();
    }
    return this.#isLocal;
  }

  /** Reads in this thread. */
  read<A extends readonly unknown[], T>(call: (...args: A) => T, ...args: A): T {
    return this.#waits.run(call, ...args);
  }

  /** Writes in this thread. Undefined: other threads are to do it. */
  write<A extends readonly unknown[], T>(call: (...args: A) => T, ...args: A): T | undefined {
    if (!this.mayRead || performance.now() - this.#responded > RESPONDS) return undefined;
    if (this.holds.acquire(WRITING, 1) !== 'held') return undefined;
    try {
      return this.#waits.run(call, ...args);
    } finally {
      this.holds.release(WRITING);
    }
  }

  /** A write has ended. */
  responded(): void {
    this.#responded = performance.now();
  }
}
