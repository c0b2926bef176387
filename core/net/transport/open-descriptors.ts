import { closeSync } from 'node:fs';
import { OpenTls, type AbandonedTls, type OpenTlsMemory } from './open-tls.js';

/** Bytes of the table at first and at most: for 65,536 and 4,194,304 numbers. */
const SIZE = 8192;
const MAX_SIZE = 524_288;

/** Memory of {@link OpenDescriptors}. */
export interface OpenMemory {
  readonly descriptors: SharedArrayBuffer;
  readonly tls: OpenTlsMemory;
}

/**
 * Sockets that a worker has opened by system calls, in memory that its process shares with it: nothing closes them when the thread dies, as
 * Node.js does for its own.
 */
export class OpenDescriptors {
  #bits: Uint8Array;
  /** TLS on them. */
  readonly tls: OpenTls;
  readonly #memory: SharedArrayBuffer;

  /** @param memory of an existing table */
  constructor(memory?: OpenMemory) {
    this.#memory = memory?.descriptors ?? new SharedArrayBuffer(SIZE, { maxByteLength: MAX_SIZE });
    this.#bits = viewOf(this.#memory);
    this.tls = new OpenTls(memory?.tls);
  }

  get memory(): OpenMemory {
    return { descriptors: this.#memory, tls: this.tls.memory };
  }

  /** Right after it was opened. */
  add(descriptor: number): void {
    const at = descriptor >> 3;
    if (at >= this.#bits.length && !this.#grow(at)) return;
    (this.#bits[at] as number) |= 1 << (descriptor & 7);
  }

  has(descriptor: number): boolean {
    return ((this.#bits[descriptor >> 3] ?? 0) & (1 << (descriptor & 7))) !== 0;
  }

  /** Right before it is closed: afterwards the number may be another thread's. */
  delete(descriptor: number): void {
    const at = descriptor >> 3;
    if (at < this.#bits.length) (this.#bits[at] as number) &= ~(1 << (descriptor & 7));
  }

  /**
   * Closes all of them: their thread has ended.
   * @param free frees its objects of OpenSSL
   * @returns how many there were
   */
  closeAll(free: (abandoned: AbandonedTls) => void): number {
    const descriptors: number[] = [];
    // A view of the whole memory, which may have grown meanwhile.
    const bits = new Uint8Array(this.#memory);
    for (let at = 0; at < bits.length; at++) {
      const byte = bits[at] as number;
      if (byte === 0) continue;
      bits[at] = 0;
      for (let bit = 0; bit < 8; bit++) if ((byte & (1 << bit)) !== 0) descriptors.push(8 * at + bit);
    }
    free(this.tls.abandon(descriptors));
    return descriptors.filter(closed).length;
  }

  #grow(at: number): boolean {
    if (at >= MAX_SIZE) return false;
    if (this.#memory.byteLength <= at) this.#memory.grow(Math.min(MAX_SIZE, 2 ** Math.ceil(Math.log2(at + 1))));
    this.#bits = viewOf(this.#memory);
    return true;
  }
}

/** Of a fixed length: that of a view which grows with its memory is looked up, slowly, with each use. */
function viewOf(memory: SharedArrayBuffer): Uint8Array {
  return new Uint8Array(memory, 0, memory.byteLength);
}

function closed(descriptor: number): boolean {
  try {
    closeSync(descriptor);
    return true;
  } catch {
    return false;
  }
}
