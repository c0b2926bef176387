import type { StoredHead } from './entry-file.js';

/** A head as it was decoded, and its bytes. */
interface Decoded {
  readonly bytes: Buffer;
  readonly stored: StoredHead;
}

/** Heads of more bytes are decoded each time. */
const LONGEST = 2048;
const REMEMBERED = 512;

/** The heads of files that were read lately: one whose bytes are the same is not decoded again. */
export class HeadMemory {
  readonly #heads = new Map<string, Decoded>();

  /** Undefined: the bytes begin with another head than the file had. */
  find(name: string, bytes: Buffer): StoredHead | undefined {
    const known = this.#heads.get(name);
    if (known === undefined || bytes.length < known.bytes.length) return undefined;
    const { length } = known.bytes;
    return bytes.compare(known.bytes, 0, length, 0, length) === 0 ? known.stored : undefined;
  }

  /** @param head its bytes, which may be used for others afterwards */
  keep(name: string, head: Buffer, stored: StoredHead): void {
    if (head.length > LONGEST) return;
    if (this.#heads.size >= REMEMBERED) this.#heads.clear();
    const bytes = Buffer.allocUnsafeSlow(head.length);
    head.copy(bytes);
    this.#heads.set(name, { bytes, stored });
  }
}
