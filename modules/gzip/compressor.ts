import type * as Zlib from 'node:zlib';
import type { BodyFilter, BodyOutput } from '../../core/contract/http.js';

/** Bodies of a known length up to this are compressed at once, at their end: that takes less than the way to another thread. */
const SMALL = 16_384;

export interface Compression {
  /** Loaded where something is compressed only: it takes milliseconds of a worker's start. */
  readonly zlib: typeof Zlib;
  readonly level: number;
  readonly windowBits: number;
  readonly memLevel: number;
}

/** A body filter that knows how much it has got and made. */
export interface Compressor extends BodyFilter {
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/** @param length bytes of the body; undefined: unknown */
export function compressor(length: number | undefined, compression: Compression): Compressor {
  if (length === undefined) return new StreamCompressor(compression, compression.zlib.constants.Z_SYNC_FLUSH);
  const fitting = fitted(length, compression);
  return length <= SMALL ? new SmallCompressor(fitting) : new StreamCompressor(fitting);
}

/** A window that is larger than the body only costs memory. */
function fitted(length: number, compression: Compression): Compression {
  const { windowBits, memLevel } = compression;
  let spare = 0;
  while (windowBits - spare > 9 && memLevel - spare > 1 && length < 2 ** (windowBits - spare - 1)) spare++;
  return { ...compression, windowBits: windowBits - spare, memLevel: memLevel - spare };
}

class SmallCompressor implements Compressor {
  bytesIn = 0;
  bytesOut = 0;
  readonly #pieces: Buffer[] = [];

  constructor(private readonly compression: Compression) {}

  write(piece: Buffer): void {
    this.#pieces.push(piece);
    this.bytesIn += piece.length;
  }

  end(out: BodyOutput): void {
    const { zlib, level, windowBits, memLevel } = this.compression;
    const [only] = this.#pieces;
    const body = only !== undefined && this.#pieces.length === 1 ? only : Buffer.concat(this.#pieces);
    const compressed = zlib.gzipSync(body, { level, windowBits, memLevel });
    this.bytesOut = compressed.length;
    out.write(compressed);
    out.end();
  }
}

/**
 * Compresses on another thread. A body in pieces without a length is sent piece by piece, so that nothing waits in the compressor for a
 * piece that may come much later.
 */
class StreamCompressor implements Compressor {
  bytesIn = 0;
  bytesOut = 0;
  readonly #gzip: Zlib.Gzip;
  #out: BodyOutput | undefined = undefined;

  /** @param flush after each piece; undefined: when the compressor likes */
  constructor({ zlib, level, windowBits, memLevel }: Compression, flush?: number) {
    this.#gzip = zlib.createGzip({ level, windowBits, memLevel, flush });
    this.#gzip.on('data', (piece: Buffer) => {
      this.bytesOut += piece.length;
      if (this.#out?.write(piece) === false) this.#gzip.pause();
    });
    this.#gzip.on('drain', () => this.#out?.resume());
    this.#gzip.on('end', () => this.#out?.end());
    this.#gzip.on('error', (error) => this.#out?.fail(error));
  }

  write(piece: Buffer, out: BodyOutput): void {
    this.#out = out;
    this.bytesIn += piece.length;
    if (!this.#gzip.write(piece)) out.pause();
  }

  end(out: BodyOutput): void {
    this.#out = out;
    this.#gzip.end();
  }

  drain(): void {
    this.#gzip.resume();
  }

  destroy(): void {
    this.#gzip.destroy();
  }
}
