import { flag, text } from '../../core/contract/args.js';
import { DECLINED, type HttpHandlers, type HttpRequest, type Result, type Scope } from '../../core/contract/http.js';
import { httpModule } from '../../core/contract/manifest.js';
import { Log } from '../../core/contract/log.js';
import { directive } from '../../core/contract/spec.js';

const IN = ['http', 'server', 'location'] as const;

/** Mirrored requests that may be under way in a worker: a slow mirror is not to use up its memory and connections. */
const MOST = 1024;

const directives = {
  mirror: directive({
    in: IN,
    args: text('uri | off'),
    many: true,
    doc: 'Sends a copy of every request to this URI of the server; its response is ignored.',
  }),
  mirror_request_body: directive({
    in: IN,
    args: flag(),
    default: 'on',
    doc: 'Mirrors the request body as well. It is read whole before the request goes on, whatever `proxy_request_buffering` says.',
  }),
};

/**
 * Mirrors requests (ngx_http_mirror_module). Mirrored requests end for themselves: a client does not wait for them. Up to 1024 of them may be
 * under way in a worker; further ones are not made, and the error log says so.
 */
@httpModule({ name: 'srv_http_mirror_module', api: 1, directives })
export class Mirror {
  #underWay = 0;

  constructor(private readonly log: Log) {}

  compile(scope: Scope<typeof directives>): HttpHandlers | undefined {
    const { mirror: uris, mirror_request_body: passBody } = scope.conf;
    if (uris.includes('off') && uris.length > 1)
      scope.fail('"mirror" directive is duplicate', 'mirror', '"off" has no other line beside it');
    if (uris.length === 0 || uris.includes('off')) return undefined;
    return {
      precontent: (request) => this.#mirror(request, uris, passBody),
      explain: {
        precontent: (_, notes) => {
          notes.say(`mirrors the request to ${uris.join(', ')}`, { uris: [...uris] });
          return DECLINED;
        },
      },
    };
  }

  #mirror(request: HttpRequest, uris: readonly string[], passBody: boolean): Result | Promise<Result> {
    if (request.parent !== undefined) return DECLINED;
    const storing = passBody ? request.storeBody() : undefined;
    if (storing === undefined) return this.#send(request, uris, passBody);
    return storing.then(() => this.#send(request, uris, passBody));
  }

  #send(request: HttpRequest, uris: readonly string[], passBody: boolean): Result {
    for (const uri of uris) {
      if (this.#underWay < MOST) this.#copy(request, uri, passBody);
      else this.log.write('error', `${MOST} mirrored requests are under way: not mirrored to "${uri}"`, request);
    }
    return DECLINED;
  }

  #copy(request: HttpRequest, uri: string, passBody: boolean): void {
    const { method, args } = request;
    const over = (): void => void this.#underWay--;
    this.#underWay++;
    // Its handler logs why one of them fails.
    request.subrequest(uri, { method, args, passBody, limit: 0, detached: true }).then(over, over);
  }
}
