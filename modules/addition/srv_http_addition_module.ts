import { rest, text } from '../../core/contract/args.js';
import type { BodyFilter, BodyOutput, HttpHandlers, HttpRequest, Scope } from '../../core/contract/http.js';
import { httpModule } from '../../core/contract/manifest.js';
import { isOfType, typesOf, weakenTag } from '../../core/contract/response-fields.js';
import { Log } from '../../core/contract/log.js';
import { directive } from '../../core/contract/spec.js';

const IN = ['http', 'server', 'location'] as const;

const directives = {
  add_before_body: directive({
    in: IN,
    args: text('uri'),
    doc: 'Sends the response of a subrequest for this URI before the body of a response; "" takes back what the block around says.',
  }),
  add_after_body: directive({
    in: IN,
    args: text('uri'),
    doc: 'Adds the response of a subrequest for this URI after the body.',
  }),
  addition_types: directive({
    in: IN,
    args: { types: rest(text('mime-type')) },
    many: true,
    doc: 'Content types of such responses beside text/html; * is any.',
  }),
};

/** Adds the responses of subrequests before and after responses (ngx_http_addition_module). Each may have up to 1 MB. */
@httpModule({
  name: 'srv_http_addition_module',
  api: '1.1',
  directives,
  after: 'srv_http_charset_module',
  before: 'srv_http_gzip_module',
  phases: { header: 898 },
})
export class Additions {
  constructor(private readonly log: Log) {}

  compile({ conf }: Scope<typeof directives>): HttpHandlers | undefined {
    const { add_before_body: before = '', add_after_body: after = '' } = conf;
    if (before === '' && after === '') return undefined;
    const types = typesOf(conf.addition_types);
    return {
      header: (request) => {
        if (request.status !== 200 || request.parent !== undefined || !isOfType(request, types)) return undefined;
        const { response } = request;
        response.remove('Accept-Ranges');
        response.remove('Content-Length');
        weakenTag(response);
        return request.method === 'HEAD' ? undefined : new Addition(request, before, after, this.log);
      },
    };
  }
}

/** The body waits for the text before it. */
class Addition implements BodyFilter {
  #out: BodyOutput | undefined = undefined;
  #isWaiting: boolean;
  #isPaused = false;
  #isEnded = false;
  #isDestroyed = false;
  #held: Uint8Array[] = [];

  constructor(
    private readonly request: HttpRequest,
    before: string,
    private readonly after: string,
    private readonly log: Log,
  ) {
    this.#isWaiting = before !== '';
    if (before !== '') void this.#bodyOf(before).then((body) => this.#begin(body));
  }

  write(piece: Buffer, out: BodyOutput): void {
    this.#out = out;
    if (!this.#isWaiting) {
      this.#flush(out);
      out.write(piece);
      return;
    }
    this.#held.push(piece);
    if (this.#isPaused) return;
    this.#isPaused = true;
    out.pause();
  }

  end(out: BodyOutput): void {
    this.#out = out;
    this.#isEnded = true;
    if (!this.#isWaiting) this.#finish(out);
  }

  destroy(): void {
    this.#isDestroyed = true;
    this.#held = [];
  }

  #begin(body: Buffer): void {
    this.#isWaiting = false;
    if (this.#isDestroyed) return;
    this.#held.unshift(body);
    const out = this.#out;
    if (out === undefined) return;
    this.#flush(out);
    if (this.#isPaused) out.resume();
    if (this.#isEnded) this.#finish(out);
  }

  #flush(out: BodyOutput): void {
    if (this.#held.length === 0) return;
    const held = this.#held;
    this.#held = [];
    for (const piece of held) if (piece.length > 0) out.write(piece);
  }

  #finish(out: BodyOutput): void {
    this.#flush(out);
    if (this.after === '') {
      out.end();
      return;
    }
    void this.#bodyOf(this.after).then((body) => {
      if (this.#isDestroyed) return;
      if (body.length > 0) out.write(body);
      out.end();
    });
  }

  /** Empty, and logged, if there is none. It never rejects. */
  async #bodyOf(uri: string): Promise<Buffer> {
    // Not before the response of the request that asks for it is under way.
    await Promise.resolve();
    try {
      return this.#isDestroyed ? Buffer.alloc(0) : (await this.request.subrequest(uri)).body;
    } catch (error) {
      if (!this.#isDestroyed) this.log.write('error', error instanceof Error ? error.message : String(error), this.request);
      return Buffer.alloc(0);
    }
  }
}
