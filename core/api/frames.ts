/**
 * Messages of any length over packets of limited length: each frame is a line `id index count bytes` and so many bytes of the message. Frames of
 * one message may arrive in any order, and a packet may hold several frames.
 */

const FRAME_BYTES = 256 * 1024;
const LONGEST_MESSAGE = 128 * 1024 * 1024;
const MAX_FRAMES = LONGEST_MESSAGE / FRAME_BYTES;
const HEADER = /^(\S{1,64}) (\d{1,4}) (\d{1,4}) (\d{1,6})$/;
const LONGEST_HEADER = 90;
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
    frames.push(Buffer.concat([Buffer.from(`${id} ${index} ${count} ${part.length}\n`), part]));
  }
  return frames;
}

/** Frames in as few packets as they fit into. @param limit bytes of a packet */
export function packetsOf(frames: readonly Buffer[], limit: number): Buffer[] {
  const packets: Buffer[][] = [];
  let left = 0;
  for (const frame of frames) {
    const packet = packets.at(-1);
    if (packet !== undefined && frame.length <= left) packet.push(frame);
    else {
      packets.push([frame]);
      left = limit;
    }
    left -= frame.length;
  }
  return packets.map((packet) => (packet.length === 1 ? (packet[0] as Buffer) : Buffer.concat(packet)));
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

  /**
   * For each frame of a packet the message that it completes, or `pending` with its id if some are missing. Bytes other than a frame end
   * the packet.
   */
  *add(packet: Buffer): Generator<Message | { readonly pending: string }> {
    for (let at = 0; at < packet.length;) {
      const end = packet.indexOf(10, at);
      const match = HEADER.exec(packet.latin1Slice(at, Math.max(at, Math.min(end, at + LONGEST_HEADER))));
      if (!match) return;
      const [, id = '', index, total, bytes] = match;
      const [count, start] = [Number(total), end + 1];
      at = start + Number(bytes);
      const part = packet.subarray(start, at);
      if (count === 1) yield { id, bytes: part };
      else if (count === 0 || count > MAX_FRAMES || Number(index) >= count) return;
      else {
        const collected = this.#collect(id, Number(index), count, part);
        if (collected !== undefined) yield collected;
      }
    }
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
