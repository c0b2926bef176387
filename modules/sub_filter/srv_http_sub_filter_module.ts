import { flag, rest, template, text } from '../../core/contract/args.js';
import type { BodyFilter, HttpHandlers, HttpRequest, Scope } from '../../core/contract/http.js';
import { httpModule } from '../../core/contract/manifest.js';
import { isOfType, typesOf, weakenTag } from '../../core/contract/response-fields.js';
import { directive } from '../../core/contract/spec.js';
import { SubFilter } from './sub-filter.js';
import { Substitutions, type Substitution } from './substitutions.js';

const IN = ['http', 'server', 'location'] as const;

const directives = {
  sub_filter: directive({
    in: IN,
    args: { pattern: template('string'), replacement: template('replacement') },
    many: true,
    doc: 'Replaces a text in responses, whatever its case. Compressed responses stay as they are.',
  }),
  sub_filter_once: directive({
    in: IN,
    args: flag(),
    default: 'on',
    doc: 'Replaces only the first occurrence of each text in a response.',
  }),
  sub_filter_types: directive({
    in: IN,
    args: { types: rest(text('mime-type')) },
    many: true,
    doc: 'Content types of such responses beside text/html; * is any.',
  }),
  sub_filter_last_modified: directive({
    in: IN,
    args: flag(),
    default: 'off',
    doc: 'Keeps their field Last-Modified, and their ETag as a weak one.',
  }),
};

/** Replaces texts in responses (ngx_http_sub_module). */
@httpModule({
  name: 'srv_http_sub_filter_module',
  api: '1.1',
  directives,
  after: 'srv_http_gunzip_module',
  before: 'srv_http_gzip_module',
  phases: { header: 894 },
})
export class SubFilters {
  compile(scope: Scope<typeof directives>): HttpHandlers | undefined {
    const { conf } = scope;
    const lines = conf.sub_filter;
    if (lines.length === 0) return undefined;
    for (const [at, { pattern }] of lines.entries())
      if (pattern.constant === '') scope.fail('empty search pattern', scope.lines('sub_filter')[at], 'a text to look for');
    const types = typesOf(conf.sub_filter_types);
    const find = finder(lines);
    const { sub_filter_once: once, sub_filter_last_modified: keepsTime } = conf;
    return {
      header(request): BodyFilter | undefined {
        if (!isReplaceable(request, types)) return undefined;
        changeFields(request, keepsTime);
        return request.method === 'HEAD' ? undefined : new SubFilter(find(request), once, request);
      },
    };
  }
}

/** Texts to search for: the same for all requests if no text has variables. */
function finder(lines: readonly Substitution[]): (request: HttpRequest) => Substitutions {
  if (lines.some(({ pattern }) => pattern.constant === undefined)) return (request) => new Substitutions(lines, request);
  const all = new Substitutions(lines, undefined);
  return () => all;
}

function isReplaceable(request: HttpRequest, types: ReadonlySet<string>): boolean {
  const { response } = request;
  return response.get('Content-Length') !== '0' && (response.get('Content-Encoding') ?? '') === '' && isOfType(request, types);
}

function changeFields({ response }: HttpRequest, keepsTime: boolean): void {
  response.remove('Accept-Ranges');
  response.remove('Content-Length');
  if (keepsTime) return weakenTag(response);
  response.remove('Last-Modified');
  response.remove('ETag');
}
