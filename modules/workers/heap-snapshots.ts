import { mkdtemp, open, rm, stat, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Bytes of a piece: its text fits a message of the bus. */
const PIECE = 192 * 1024;
/** Bytes of the file for each byte of the heap, at most. */
const GROWTH = 4;

/** Bytes in use of the largest heap that a snapshot is made of: about 5 seconds of a processor, where 10 are the limit of a thread that does not respond. */
const MOST_HEAP = 300 * 1024 ** 2;

/** A heap of which there is no snapshot. */
export class HeapTooLarge extends Error {}

/** A snapshot of a worker's heap on its way to a client. */
export interface StoredHeap {
  readonly id: string;
  /** Bytes. */
  readonly length: number;
}

/** Files of heap snapshots, readable by the user of the server alone, until a client has them. One at a time: each takes much memory and disk. */
export class HeapSnapshots {
  #current: { readonly id: string; readonly folder: string; readonly path: string } | undefined;
  #isReserved = false;
  #last = 0;

  /** Begins one, which {@link end} ends. @returns false: there is one already */
  reserve(): boolean {
    if (this.#isReserved) return false;
    this.#isReserved = true;
    return true;
  }

  /** Makes the folder. @param heap bytes in use @returns the path for the file @throws HeapTooLarge (rejects) */
  async begin(heap: number): Promise<string> {
    if (heap > MOST_HEAP)
      throw new HeapTooLarge(
        `the heap has ${mebibytes(heap)} MB: a snapshot of more than ${mebibytes(MOST_HEAP)} MB may take so long that the worker is replaced`,
      );
    const { bavail, bsize } = await statfs(tmpdir());
    const [needed, free] = [heap * GROWTH, bavail * bsize];
    if (free < needed)
      throw new Error(`a heap snapshot may need ${mebibytes(needed)} MB in ${tmpdir()}, which has ${mebibytes(free)} MB free`);
    const folder = await mkdtemp(join(tmpdir(), 'srv-heap-'));
    this.#current = { id: String(++this.#last), folder, path: join(folder, 'worker.heapsnapshot') };
    return this.#current.path;
  }

  /** The file is whole. */
  async stored(): Promise<StoredHeap> {
    const { id, path } = this.#current!;
    return { id, length: (await stat(path)).size };
  }

  /** @returns a piece in base64; undefined: there is no such snapshot any more */
  async read(id: string, at: number): Promise<string | undefined> {
    if (this.#current?.id !== id) return undefined;
    const file = await open(this.#current.path, 'r');
    try {
      const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(PIECE), 0, PIECE, at);
      return buffer.toString('base64', 0, bytesRead);
    } finally {
      await file.close();
    }
  }

  /** Removes the file. @param id undefined: of whatever there is */
  async end(id?: string): Promise<void> {
    const current = this.#current;
    if (id !== undefined && id !== current?.id) return;
    this.#current = undefined;
    this.#isReserved = false;
    if (current !== undefined) await rm(current.folder, { recursive: true, force: true });
  }
}

const mebibytes = (bytes: number): number => Math.ceil(bytes / 1024 ** 2);
