/**
 * Messages of any length over packets of limited length: each frame is a line `id index count` and its part of the bytes. Frames of one
 * message may arrive in any order.
 */

const FRAME_BYTES = 256 * 1024;
const LONGEST_MESSAGE = 128 * 1024 * 1024;
const MAX_FRAMES = LONGEST_MESSAGE / FRAME_BYTES;
/** A message that gets no further frame for so long (ms) is dropped: its sender is gone. */
const STALE_AFTER = 10_000;

export class MessageTooLong extends Error {
  constructor() {
    super(`the control bus allows ${LONGEST_MESSAGE / 1024 ** 2} MiB`);
  }
}

/** @throws MessageTooLong */
export function split(id: string, message: Buffer): Buffer[] {
  const count = Math.max(1, Math.ceil(message.length / FRAME_BYTES));
  if (count > MAX_FRAMES) throw new MessageTooLong();
  const frames: Buffer[] = [];
  for (let index = 0; index < count; index++) {
    const part = message.subarray(index * FRAME_BYTES, (index + 1) * FRAME_BYTES);
    frames.push(Buffer.concat([Buffer.from(`${id} ${index} ${count}\n`), part]));
  }
  return frames;
}

interface Partial {
  readonly parts: (Buffer | undefined)[];
  missing: number;
  touched: number;
}

export interface Message {
  readonly id: string;
  readonly bytes: Buffer;
}

/** Puts the frames of one sender together again. */
export class Assembler {
  readonly #partial = new Map<string, Partial>();

  /** The message this frame completes, `pending` with its id if some are missing, undefined if it is no frame. */
  add(frame: Buffer): Message | { readonly pending: string } | undefined {
    const end = frame.indexOf(10);
    const match = /^(\S{1,64}) (\d{1,4}) (\d{1,4})$/.exec(frame.toString('latin1', 0, Math.max(0, Math.min(end, 80))));
    if (!match) return undefined;
    const [, id = '', index, total] = match;
    const count = Number(total);
    const part = frame.subarray(end + 1);
    if (count === 1) return { id, bytes: part };
    if (count === 0 || count > MAX_FRAMES || Number(index) >= count) return undefined;
    return this.#collect(id, Number(index), count, part);
  }

  #collect(id: string, index: number, count: number, part: Buffer): Message | { readonly pending: string } | undefined {
    this.#dropStale();
    const partial = this.#partial.get(id) ?? { parts: Array.from<Buffer | undefined>({ length: count }), missing: count, touched: 0 };
    if (partial.parts.length !== count || partial.parts[index] !== undefined) return undefined;
    partial.parts[index] = part;
    partial.missing--;
    partial.touched = Date.now();
    if (partial.missing > 0) {
      this.#partial.set(id, partial);
      return { pending: id };
    }
    this.#partial.delete(id);
    return { id, bytes: Buffer.concat(partial.parts as Buffer[]) };
  }

  #dropStale(): void {
    const limit = Date.now() - STALE_AFTER;
    for (const [id, partial] of this.#partial) if (partial.touched < limit) this.#partial.delete(id);
  }
}
