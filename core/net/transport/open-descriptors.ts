import { closeSync } from 'node:fs';

/** Bytes of the table at first and at most: for 65,536 and 4,194,304 numbers. */
const SIZE = 8192;
const MAX_SIZE = 524_288;

/**
 * Sockets that a worker has opened by system calls, in memory that its process shares with it: nothing closes them when the thread dies, as
 * Node.js does for its own.
 */
export class OpenDescriptors {
  #bits: Uint8Array;

  /** @param memory of an existing table */
  constructor(readonly memory = new SharedArrayBuffer(SIZE, { maxByteLength: MAX_SIZE })) {
    this.#bits = new Uint8Array(memory);
  }

  /** Right after it was opened. */
  add(descriptor: number): void {
    const at = descriptor >> 3;
    if (at >= this.#bits.length && !this.#grow(at)) return;
    (this.#bits[at] as number) |= 1 << (descriptor & 7);
  }

  /** Right before it is closed: afterwards the number may be another thread's. */
  delete(descriptor: number): void {
    const at = descriptor >> 3;
    if (at < this.#bits.length) (this.#bits[at] as number) &= ~(1 << (descriptor & 7));
  }

  /** Closes all of them: their thread has ended. @returns how many there were */
  closeAll(): number {
    let count = 0;
    // A view of the whole memory, which may have grown meanwhile.
    const bits = new Uint8Array(this.memory);
    for (let at = 0; at < bits.length; at++) {
      const byte = bits[at] as number;
      if (byte === 0) continue;
      bits[at] = 0;
      for (let bit = 0; bit < 8; bit++) if ((byte & (1 << bit)) !== 0 && closed(8 * at + bit)) count++;
    }
    return count;
  }

  #grow(at: number): boolean {
    if (at >= MAX_SIZE) return false;
    if (this.memory.byteLength <= at) this.memory.grow(Math.min(MAX_SIZE, 2 ** Math.ceil(Math.log2(at + 1))));
    this.#bits = new Uint8Array(this.memory);
    return true;
  }
}

function closed(descriptor: number): boolean {
  try {
    closeSync(descriptor);
    return true;
  } catch {
    return false;
  }
}
