import { closeSync, constants, openSync, readSync } from 'node:fs';

/** Time for a writer to begin, in milliseconds. The whole thread waits. */
const PATIENCE = 1000;
const STEP = 20;
/** More is not a key and no list of passwords. */
const MOST = 1_048_576;

const pause = new Int32Array(new SharedArrayBuffer(4));

/**
 * Reads a named pipe until its writer closes it: keys that are never on a disk.
 * @param waits a writer may still come
 * @returns undefined: there is no writer
 * @throws the error of the system
 */
export function readNamedPipe(path: string, waits: boolean): Buffer | undefined {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const pieces: Buffer[] = [];
    let length = 0;
    for (const end = Date.now() + (waits ? PATIENCE : 0); ;) {
      const piece = readPiece(descriptor);
      if (piece !== undefined && piece.length > 0) {
        length += piece.length;
        if (length > MOST) throw Object.assign(new Error('the named pipe gives too much'), { syscall: 'read', path });
        pieces.push(piece);
      } else if (piece !== undefined && length > 0) return Buffer.concat(pieces);
      else if (Date.now() >= end) return undefined;
      else Atomics.wait(pause, 0, 0, STEP);
    }
  } finally {
    closeSync(descriptor);
  }
}

/** Empty: there is no writer. Undefined: it has not written yet. */
function readPiece(descriptor: number): Buffer | undefined {
  const bytes = Buffer.alloc(65_536);
  try {
    return bytes.subarray(0, readSync(descriptor, bytes));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return undefined;
    throw error;
  }
}
