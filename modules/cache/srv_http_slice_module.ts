import { size } from '../../core/contract/args.js';
import { DECLINED, type HttpHandlers, type HttpRequest, type OpenSubrequest, type Result, type Scope } from '../../core/contract/http.js';
import { Log } from '../../core/contract/log.js';
import { httpModule, type HttpModule } from '../../core/contract/manifest.js';
import { directive } from '../../core/contract/spec.js';
import { conditionalResult } from '../../core/toolkit/conditions.js';
import { contentRangeOf, openSlice, SlicedBody } from './sliced-body.js';
import { fieldsOf, keepFields, setLead, sliceOf, sliceRange } from './slices.js';

const directives = {
  slice: directive({
    in: ['http', 'server', 'location'],
    args: size(),
    default: '0',
    doc: 'Requests and stores responses in parts of this size; 0: as a whole.',
  }),
};

/** Fields that are about one slice alone. */
const NOT_COPIED = new Set(['content-range', 'content-type', 'accept-ranges']);

/** Divides requests into subrequests for ranges of the response, so that large responses are stored in parts (ngx_http_slice_module). */
@httpModule({
  name: 'srv_http_slice_module',
  api: '1.2',
  plane: 'data',
  directives,
  variables: { slice_range: sliceRange },
  phases: { header: 1 },
})
export class Slices implements HttpModule {
  constructor(private readonly log: Log) {}

  compile({ conf }: Scope<typeof directives>): HttpHandlers | undefined {
    const { slice: bytes } = conf;
    if (bytes === 0) return undefined;
    return {
      precontent: (request) => (isWhole(request) ? this.#respond(request, bytes) : DECLINED),
      header: (request) => {
        if (sliceOf(request) !== undefined) keepFields(request);
      },
      explain: { precontent: 'run' },
    };
  }

  async #respond(request: HttpRequest, bytes: number): Promise<Result> {
    const at = beginOf(request);
    const first = await openSlice(request, at, bytes);
    setLead(request, first.request);
    copyFields(first.request, request);
    const type = first.request.response.get('Content-Type');
    if (first.status !== 206) return relay(request, first, type);
    const range = contentRangeOf(first.request);
    if (range?.first !== at - (at % bytes)) {
      await first.body.return?.();
      this.log.write('error', `unexpected range in slice response: "${first.request.response.get('Content-Range') ?? ''}"`, request);
      return 502;
    }
    request.response.allowsRanges = true;
    const result = conditionalResult(request);
    const body = new SlicedBody(request, bytes, range.total, first, range.first);
    if (result === undefined) return request.sendFrom(200, body, type);
    body.close();
    return result;
  }
}

function isWhole({ parent, method, hasBody }: HttpRequest): boolean {
  return parent === undefined && (method === 'GET' || method === 'HEAD') && !hasBody;
}

/** The first byte that a client wants, if it is simple to say: else 0. */
function beginOf(request: HttpRequest): number {
  return Number(/^bytes=(\d{1,15})-\d*$/.exec(request.header('range') ?? '')?.[1] ?? 0);
}

function copyFields(from: HttpRequest, { response: to }: HttpRequest): void {
  for (const [name, value] of fieldsOf(from)) if (!NOT_COPIED.has(name.toLowerCase())) to.append(name, value);
}

/** A response that is not in slices: an error, or the whole of a member that knows no ranges. */
function relay(request: HttpRequest, { status, body }: OpenSubrequest, type: string | undefined): Result {
  return request.respond(status, type).pipe(body);
}
