/** Compressors and decompressors of node:zlib that run on the calling thread, and that are reset and used again for other bodies. */
import type * as Zlib from 'node:zlib';
import type { BodyOutput } from '../contract/http.js';

/** Bytes of output that one call of zlib makes at most. */
const SCRATCH = 32_768;
/** Codecs that wait for another body: the largest has 300 KB. */
const MOST_IDLE = 8;

/** The native object below a stream of node:zlib: not documented, and the same since Node.js 0.12. */
interface Handle {
  /** Sets the two numbers of the state: room that is left, input that is left. */
  writeSync(flush: number, input: Uint8Array, from: number, length: number, output: Uint8Array, outputFrom: number, room: number): void;
  reset(): void;
  onerror: (message: string, code: number, name: string) => void;
}

interface Internals {
  readonly _handle?: Partial<Handle> | null;
  readonly _writeState?: unknown;
}

/** One stream of node:zlib, used without its events and without another thread, until {@link toStream}. */
export class Codec<Stream extends Zlib.Gzip | Zlib.Gunzip> {
  /** Bytes that it has made of the body. */
  bytesOut = 0;
  /** The compressed data has ended: what follows does not belong to it. */
  isComplete = false;
  readonly #onerror: Handle['onerror'];
  #error: Error | undefined = undefined;

  /** @param kind codecs of the same number are the same: what {@link CodecPool.borrow} looks for */
  constructor(
    readonly kind: number,
    private readonly stream: Stream,
    private readonly handle: Handle,
    private readonly state: Uint32Array,
    private readonly scratch: Buffer,
  ) {
    this.#onerror = handle.onerror;
    const onerror: Handle['onerror'] = (message) => (this.#error = new Error(message));
    Object.assign(handle, { onerror });
  }

  /**
   * Consumes a piece and writes what becomes of it.
   * @param flush a flush value of zlib
   * @param most bytes of output of the whole body after which it stops although there is input left
   * @returns bytes of input that are left
   * @throws Error if the input is malformed
   */
  run(piece: Uint8Array, flush: number, out: BodyOutput, most = Infinity): number {
    const { handle, state, scratch } = this;
    let left = piece.length;
    for (;;) {
      handle.writeSync(flush, piece, piece.length - left, left, scratch, 0, SCRATCH);
      if (this.#error !== undefined) throw this.#error;
      const [room = 0, rest = 0] = state;
      left = rest;
      this.bytesOut += SCRATCH - room;
      if (room < SCRATCH) out.write(copyOf(scratch, SCRATCH - room));
      if (room > 0) this.isComplete ||= left > 0;
      if (room > 0 || (left > 0 && this.bytesOut >= most)) return left;
    }
  }

  get hasFailed(): boolean {
    return this.#error !== undefined;
  }

  /** The body so far is forgotten. */
  reset(): void {
    this.bytesOut = 0;
    this.isComplete = false;
    this.handle.reset();
  }

  /** The stream, which continues the body on another thread. It is not used here any more. */
  toStream(): Stream {
    Object.assign(this.handle, { onerror: this.#onerror });
    return this.stream;
  }

  /** Releases its memory. */
  close(): void {
    this.stream.destroy();
  }
}

/** The codecs of a worker that no body uses. */
export class CodecPool<Stream extends Zlib.Gzip | Zlib.Gunzip> {
  /** The one that was used last is the last. */
  readonly #idle: Codec<Stream>[] = [];
  #scratch: Buffer | undefined = undefined;

  /**
   * @param kind of one that is idle, which is reset
   * @param create is called if there is none
   * @returns undefined if this version of Node.js does not have what is needed
   */
  borrow(kind: number, create: () => Stream): Codec<Stream> | undefined {
    const at = this.#idle.findLastIndex((codec) => codec.kind === kind);
    const [idle] = at < 0 ? [] : this.#idle.splice(at, 1);
    if (idle !== undefined) {
      idle.reset();
      return idle;
    }
    const stream = create();
    const { _handle: handle, _writeState: state } = stream as Internals;
    if (!isHandle(handle) || !(state instanceof Uint32Array)) return undefined;
    this.#scratch ??= Buffer.allocUnsafeSlow(SCRATCH);
    return new Codec(kind, stream, handle, state, this.#scratch);
  }

  /** @param codec is not used any more */
  release(codec: Codec<Stream>): void {
    if (codec.hasFailed) {
      codec.close();
      return;
    }
    this.#idle.push(codec);
    if (this.#idle.length > MOST_IDLE) this.#idle.shift()?.close();
  }
}

function isHandle(handle: Partial<Handle> | null | undefined): handle is Handle {
  return typeof handle?.writeSync === 'function' && typeof handle.reset === 'function' && typeof handle.onerror === 'function';
}

function copyOf(bytes: Buffer, length: number): Buffer {
  const copy = Buffer.allocUnsafe(length);
  bytes.copy(copy, 0, 0, length);
  return copy;
}
