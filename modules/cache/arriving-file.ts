import { close, open, read } from 'node:fs';
import { promisify } from 'node:util';
import { MalformedBody, type BodySource } from '../../core/contract/http.js';
import type { Arrivals } from './arrivals.js';
import { decodeHead, headLength, StoredFlag, type StoredHead } from './entry-file.js';

const openFile = promisify(open);

/** Longest wait without news before the file is looked at again. Milliseconds. */
const LONGEST_WAIT = 60_000;
/** A first read that has the head of most files. */
const FIRST_READ = 8192;

/** The fetch of what is written to a file. */
export interface ArrivingFetch {
  readonly arrivals: Arrivals;
  readonly name: string;
  readonly turn: number;
}

/** A response that is being stored, for one request that has waited for it: its bytes so far, and the next ones as they come. */
export class ArrivingFile implements BodySource {
  readonly grows = true;
  #isClosed = false;

  private constructor(
    private readonly file: number,
    readonly stored: StoredHead,
    private readonly start: number,
    private readonly fetch: ArrivingFetch,
    private readonly signal: AbortSignal,
  ) {}

  /** Undefined: the file is gone, or not one of a response that is being stored. @throws (rejects) Error of the system */
  static async open(path: string, fetch: ArrivingFetch, signal: AbortSignal): Promise<ArrivingFile | undefined> {
    let file: number;
    try {
      file = await openFile(path, 'r');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
    try {
      const found = await readHead(file);
      if (found !== undefined) {
        const stored = { ...found.stored, flags: found.stored.flags & ~StoredFlag.Arriving };
        return new ArrivingFile(file, stored, found.start, fetch, signal);
      }
    } catch (error) {
      close(file, () => undefined);
      throw error;
    }
    close(file, () => undefined);
    return undefined;
  }

  get length(): number {
    return this.stored.bodyLength;
  }

  async read(into: Buffer, offset: number): Promise<number> {
    const { arrivals, name, turn } = this.fetch;
    for (;;) {
      // Before the file: what comes after it is news.
      const isAlive = arrivals.isAlive(name, turn);
      const step = isAlive ? arrivals.stepOf(name, turn) : -1;
      const count = await readAt(this.file, into, this.start + offset);
      if (count > 0 || this.signal.aborted) return count;
      if (!isAlive) return await this.#end();
      await arrivals.news(name, turn, step, LONGEST_WAIT, this.signal);
    }
  }

  /** No more will come. @throws (rejects) MalformedBody: the response is not whole */
  async #end(): Promise<0> {
    const now = await readHead(this.file);
    if (now === undefined || (now.stored.flags & StoredFlag.Arriving) !== 0)
      throw new MalformedBody('the response that another request fetched and this one waited for has been cut off');
    return 0;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    close(this.file, () => undefined);
  }
}

async function readHead(file: number): Promise<{ stored: StoredHead; start: number } | undefined> {
  for (let room = FIRST_READ; ;) {
    const bytes = Buffer.allocUnsafe(room);
    const head = bytes.subarray(0, await readAt(file, bytes, 0));
    const stored = decodeHead(head);
    if (stored === undefined) return undefined;
    if (typeof stored !== 'number') return { stored, start: headLength(head) };
    if (stored <= room) return undefined;
    room = stored;
  }
}

function readAt(file: number, into: Buffer, position: number): Promise<number> {
  return new Promise((resolve, reject) =>
    read(file, into, 0, into.length, position, (error, count) => (error === null ? resolve(count) : reject(error))),
  );
}
