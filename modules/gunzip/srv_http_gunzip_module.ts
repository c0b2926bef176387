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
import { directive } from '../../core/contract/spec.js';

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
        return new Decompressor(zlib.createGunzip());
      },
    };
  }
}

/**
 * Decompresses on another thread. Little can become much: no more is decompressed than the client takes, and no more is read than is
 * decompressed.
 */
class Decompressor implements BodyFilter {
  #out: BodyOutput | undefined = undefined;

  constructor(private readonly gunzip: Zlib.Gunzip) {
    this.gunzip.on('data', (piece: Buffer) => {
      if (this.#out?.write(piece) === false) this.gunzip.pause();
    });
    this.gunzip.on('drain', () => this.#out?.resume());
    this.gunzip.on('end', () => this.#out?.end());
    this.gunzip.on('error', (error) => this.#out?.fail(new MalformedBody(`inflate() failed: ${error.message}`)));
  }

  write(piece: Buffer, out: BodyOutput): void {
    this.#out = out;
    if (!this.gunzip.write(piece)) out.pause();
  }

  end(out: BodyOutput): void {
    if (this.#out === undefined) {
      out.end();
      return;
    }
    this.gunzip.end();
  }

  drain(): void {
    this.gunzip.resume();
  }

  destroy(): void {
    this.gunzip.destroy();
  }
}
