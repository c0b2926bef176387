import type * as Zlib from 'node:zlib';
import { flag, number, size } from '../../core/contract/args.js';
import {
  type BodyFilter,
  type BodyOutput,
  type HttpHandlers,
  type HttpRequest,
  MalformedBody,
  type ResponseHeaders,
  type Scope,
} from '../../core/contract/http.js';
import { httpModule } from '../../core/contract/manifest.js';
import { type Codec, CodecPool } from '../../core/toolkit/codec.js';
import { directive } from '../../core/contract/spec.js';

/** Bytes, compressed or not, of a body that are decompressed at once, without the way to another thread. */
const AT_ONCE = 65_536;
const NOTHING = Buffer.alloc(0);

const IN = ['http', 'server', 'location'] as const;

const directives = {
  gunzip: directive({ in: IN, args: flag(), default: 'off', doc: 'Decompresses responses for clients that do not take gzip.' }),
  gunzip_buffers: directive({ in: IN, args: { number: number({ min: 1 }), size: size() }, doc: 'Accepted: buffers have 16k.' }),
};

/** Of srv_http_gzip_module. */
abstract class GzipClients {
  static readonly service = 'srv.gzip-clients';
  abstract negotiate(request: HttpRequest): boolean;
  abstract recode(response: ResponseHeaders, coding: 'gzip' | undefined): void;
}

/** Decompresses responses for clients without gzip (ngx_http_gunzip_module). */
@httpModule({
  name: 'srv_http_gunzip_module',
  api: '1.1',
  directives,
  needs: ['srv_http_gzip_module'],
  before: 'srv_http_gzip_module',
  phases: { header: 890 },
})
export class Gunzip {
  readonly #pool = new CodecPool<Zlib.Gunzip>();

  constructor(private readonly clients: GzipClients) {}

  compile({ conf }: Scope<typeof directives>): HttpHandlers | undefined {
    if (!conf.gunzip) return undefined;
    // Not loaded where nothing is decompressed: it takes milliseconds of a worker's start.
    const zlib = process.getBuiltinModule('node:zlib');
    return {
      header: (request) => {
        if (request.response.get('Content-Encoding')?.toLowerCase() !== 'gzip' || this.clients.negotiate(request)) return undefined;
        // The coding of a part cannot be changed, and where there is no body nothing is.
        if (request.status === 206 || request.status === 304 || request.status === 204) return undefined;
        this.clients.recode(request.response, undefined);
        return new Decompressor(zlib, this.#pool);
      },
    };
  }
}

/**
 * Decompresses what is small at once, and the rest on another thread. Little can become much: no more is decompressed than the client takes,
 * and no more is read than is decompressed.
 */
class Decompressor implements BodyFilter {
  readonly retains = false;
  #bytesIn = 0;
  /** Undefined: it is released, or has become the stream. */
  #codec: Codec<Zlib.Gunzip> | undefined;
  #stream: Zlib.Gunzip | undefined = undefined;
  #out: BodyOutput | undefined = undefined;

  constructor(
    private readonly zlib: typeof Zlib,
    private readonly pool: CodecPool<Zlib.Gunzip>,
  ) {
    const create = (): Zlib.Gunzip => zlib.createGunzip();
    this.#codec = pool.borrow(0, create);
    if (this.#codec === undefined) this.#continue(create());
  }

  write(piece: Buffer, out: BodyOutput): void {
    this.#out = out;
    this.#bytesIn += piece.length;
    const codec = this.#codec;
    let left = piece.length;
    if (codec !== undefined) {
      if (!codec.isComplete && this.#bytesIn <= AT_ONCE) left = run(codec, piece, this.zlib.constants.Z_NO_FLUSH, out);
      if (left === 0 || codec.isComplete) return;
      this.#continue(codec.toStream());
    }
    if (this.#stream?.write(Buffer.from(piece.subarray(piece.length - left))) === false) out.pause();
  }

  end(out: BodyOutput): void {
    const codec = this.#codec;
    if (codec === undefined) {
      if (this.#out === undefined) out.end();
      else this.#stream?.end();
      return;
    }
    if (this.#out !== undefined && !codec.isComplete) run(codec, NOTHING, this.zlib.constants.Z_FINISH, out);
    this.#release(codec);
    out.end();
  }

  drain(): void {
    this.#stream?.resume();
  }

  destroy(): void {
    if (this.#codec === undefined) this.#stream?.destroy();
    else this.#release(this.#codec);
  }

  #continue(stream: Zlib.Gunzip): void {
    this.#codec = undefined;
    this.#stream = stream;
    stream.on('data', (piece: Buffer) => {
      if (this.#out?.write(piece) === false) stream.pause();
    });
    stream.on('drain', () => this.#out?.resume());
    stream.on('end', () => this.#out?.end());
    stream.on('error', (error) => this.#out?.fail(malformed(error)));
  }

  #release(codec: Codec<Zlib.Gunzip>): void {
    this.#codec = undefined;
    this.pool.release(codec);
  }
}

function run(codec: Codec<Zlib.Gunzip>, piece: Buffer, flush: number, out: BodyOutput): number {
  try {
    return codec.run(piece, flush, out, AT_ONCE);
  } catch (error) {
    throw malformed(error as Error);
  }
}

function malformed(error: Error): MalformedBody {
  return new MalformedBody(`inflate() failed: ${error.message}`);
}
