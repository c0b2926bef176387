import type * as Zlib from 'node:zlib';
import type { BodyFilter, BodyOutput } from '../../core/contract/http.js';
import type { Codec, CodecPool } from '../../core/toolkit/codec.js';

/** Bytes of a body that are compressed at once, without the way to another thread: a millisecond of work. */
const AT_ONCE = 65_536;
/** The same for levels that search longer. */
const AT_ONCE_SLOWLY = 16_384;
/** The last level that is fast. */
const FAST_LEVEL = 6;
/** Bodies up to this have a smaller window. */
const SMALL = 16_384;
const NOTHING = Buffer.alloc(0);

export interface CompressionLevel {
  /** Loaded where something is compressed only: it takes milliseconds of a worker's start. */
  readonly zlib: typeof Zlib;
  /** Of the worker. */
  readonly pool: CodecPool<Zlib.Gzip>;
  readonly level: number;
  readonly windowBits: number;
  readonly memLevel: number;
}

export interface Compression extends CompressionLevel {
  /** For bodies that are known to be small. */
  readonly small: CompressionLevel;
}

/** A body filter that knows how much it has got and made. */
export interface Compressor extends BodyFilter {
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/** The same with a window that suits small bodies: a larger one only costs memory. */
export function smaller(compression: CompressionLevel): CompressionLevel {
  const spare = Math.max(0, compression.windowBits - Math.log2(SMALL));
  return { ...compression, windowBits: compression.windowBits - spare, memLevel: Math.max(1, compression.memLevel - spare) };
}

/** @param length bytes of the body; undefined: unknown */
export function compressor(length: number | undefined, compression: Compression): Compressor {
  const atOnce = compression.level <= FAST_LEVEL ? AT_ONCE : AT_ONCE_SLOWLY;
  if (length === undefined) {
    const codec = borrowCodec(compression);
    return codec === undefined ? new StreamCompressor(createGzip(compression, true)) : new PieceCompressor(compression, codec, atOnce);
  }
  if (length > atOnce) return new StreamCompressor(createGzip(compression, false));
  return new WholeCompressor(length, length <= SMALL ? compression.small : compression);
}

/** @param flushes after each piece; else when the compressor likes */
function createGzip({ zlib, level, windowBits, memLevel }: CompressionLevel, flushes: boolean): Zlib.Gzip {
  return zlib.createGzip({ level, windowBits, memLevel, flush: flushes ? zlib.constants.Z_SYNC_FLUSH : zlib.constants.Z_NO_FLUSH });
}

function borrowCodec(compression: CompressionLevel): Codec<Zlib.Gzip> | undefined {
  const { pool, level, windowBits, memLevel } = compression;
  return pool.borrow((level * 16 + windowBits) * 16 + memLevel, () => createGzip(compression, true));
}

/** Compresses a small body when it is complete. */
class WholeCompressor implements Compressor {
  readonly retains = false;
  bytesIn = 0;
  bytesOut = 0;
  /** Copies of pieces before the last one. */
  #pieces: Buffer[] | undefined = undefined;

  constructor(
    private readonly expected: number,
    private readonly compression: CompressionLevel,
  ) {}

  write(piece: Buffer, out: BodyOutput): void {
    this.bytesIn += piece.length;
    if (this.bytesIn >= this.expected && this.#pieces === undefined) this.#compress(piece, out);
    else (this.#pieces ??= []).push(Buffer.from(piece));
  }

  end(out: BodyOutput): void {
    if (this.#pieces !== undefined) this.#compress(Buffer.concat(this.#pieces), out);
    else if (this.bytesIn === 0) this.#compress(NOTHING, out);
    out.end();
  }

  /** More than what was expected becomes another gzip member: clients decompress them one after the other. */
  #compress(body: Buffer, out: BodyOutput): void {
    const { zlib, pool, level, windowBits, memLevel } = this.compression;
    const codec = borrowCodec(this.compression);
    if (codec === undefined) {
      out.write(zlib.gzipSync(body, { level, windowBits, memLevel }));
      return;
    }
    codec.run(body, zlib.constants.Z_FINISH, out);
    this.bytesOut += codec.bytesOut;
    pool.release(codec);
  }
}

/**
 * Compresses a body of unknown length piece by piece, so that nothing waits in the compressor for a piece that may come much later. After
 * the first 64 KB it continues on another thread.
 */
class PieceCompressor implements Compressor {
  readonly retains = false;
  bytesIn = 0;
  /** Undefined: it is released, or has become the stream. */
  #codec: Codec<Zlib.Gzip> | undefined;
  #bytesOut = 0;
  #stream: StreamCompressor | undefined = undefined;

  constructor(
    private readonly compression: CompressionLevel,
    codec: Codec<Zlib.Gzip>,
    private readonly atOnce: number,
  ) {
    this.#codec = codec;
  }

  get bytesOut(): number {
    return this.#stream === undefined ? this.#bytesOut : this.#bytesOut + this.#stream.bytesOut;
  }

  write(piece: Buffer, out: BodyOutput): void {
    this.bytesIn += piece.length;
    if (this.#codec === undefined || this.bytesIn > this.atOnce) this.#continued(this.#codec)?.write(Buffer.from(piece), out);
    else this.#run(this.#codec, piece, this.compression.zlib.constants.Z_SYNC_FLUSH, out);
  }

  end(out: BodyOutput): void {
    const codec = this.#codec;
    if (codec === undefined) {
      this.#stream?.end(out);
      return;
    }
    this.#run(codec, NOTHING, this.compression.zlib.constants.Z_FINISH, out);
    this.#release(codec);
    out.end();
  }

  drain(): void {
    this.#stream?.drain();
  }

  destroy(): void {
    if (this.#codec === undefined) this.#stream?.destroy();
    else this.#release(this.#codec);
  }

  #run(codec: Codec<Zlib.Gzip>, piece: Buffer, flush: number, out: BodyOutput): void {
    codec.run(piece, flush, out);
    this.#bytesOut = codec.bytesOut;
  }

  #continued(codec: Codec<Zlib.Gzip> | undefined): StreamCompressor | undefined {
    if (codec === undefined) return this.#stream;
    this.#codec = undefined;
    this.#stream = new StreamCompressor(codec.toStream());
    return this.#stream;
  }

  #release(codec: Codec<Zlib.Gzip>): void {
    this.#codec = undefined;
    this.compression.pool.release(codec);
  }
}

/** Compresses on another thread. */
class StreamCompressor implements Compressor {
  bytesIn = 0;
  bytesOut = 0;
  #out: BodyOutput | undefined = undefined;

  constructor(private readonly gzip: Zlib.Gzip) {
    gzip.on('data', (piece: Buffer) => {
      this.bytesOut += piece.length;
      if (this.#out?.write(piece) === false) gzip.pause();
    });
    gzip.on('drain', () => this.#out?.resume());
    gzip.on('end', () => this.#out?.end());
    gzip.on('error', (error) => this.#out?.fail(error));
  }

  write(piece: Buffer, out: BodyOutput): void {
    this.#out = out;
    this.bytesIn += piece.length;
    if (!this.gzip.write(piece)) out.pause();
  }

  end(out: BodyOutput): void {
    this.#out = out;
    this.gzip.end();
  }

  drain(): void {
    this.gzip.resume();
  }

  destroy(): void {
    this.gzip.destroy();
  }
}
