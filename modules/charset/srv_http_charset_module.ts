import { flag, rest, template, text } from '../../core/contract/args.js';
import type { BodyFilter, HttpHandlers, HttpRequest, Scope, Template } from '../../core/contract/http.js';
import { httpModule } from '../../core/contract/manifest.js';
import { isOfType, typesOf } from '../../core/contract/response-fields.js';
import { Log } from '../../core/contract/log.js';
import { directive } from '../../core/contract/spec.js';
import type { Directive } from '../../core/contract/tree.js';
import { findMap, readMaps, type CharsetMap } from './charset-maps.js';
import { recoding, type Recoding } from './recoding.js';

const IN = ['http', 'server', 'location', 'if in location'] as const;

const directives = {
  charset: directive({
    in: IN,
    args: template('charset | off'),
    default: 'off',
    doc: 'Adds this charset to the field Content-Type of responses, and converts them to it if source_charset is another one.',
  }),
  source_charset: directive({ in: IN, args: template('charset'), doc: 'The charset that responses have.' }),
  override_charset: directive({
    in: IN,
    args: flag(),
    default: 'off',
    doc: 'Also converts responses whose Content-Type has a charset.',
  }),
  charset_types: directive({
    in: ['http', 'server', 'location'],
    args: { types: rest(text('mime-type')) },
    default: 'text/html text/xml text/plain text/vnd.wap.wml application/javascript application/rss+xml',
    doc: 'Content types of such responses; text/html is always one of them, * is any.',
  }),
  charset_map: directive({
    in: ['http'],
    args: { from: text('charset'), to: text('charset') },
    block: 'entries',
    many: true,
    identity: ({ args }) => args.map((word) => word.text).join(' '),
    doc: 'Converts between two charsets, in both directions: hexadecimal codes of their characters. Only the second one may be utf-8.',
  }),
};

type CharsetScope = Scope<typeof directives>;

/** Effect of one `charset`. */
interface Settings {
  readonly to: Template;
  readonly source: Template | undefined;
  readonly overrides: boolean;
  readonly types: ReadonlySet<string>;
  readonly maps: readonly CharsetMap[];
}

const PARAMETER = /\s*;\s*charset\s*=\s*"?([^";\s]*)"?/i;

/** The charset of responses (ngx_http_charset_module). */
@httpModule({
  name: 'srv_http_charset_module',
  api: '1.1',
  directives,
  after: 'srv_http_sub_filter_module',
  before: 'srv_http_gzip_module',
  phases: { header: 896 },
})
export class Charset {
  /** Made when they are needed first, for each map and direction. */
  readonly #recodings = new WeakMap<CharsetMap, Map<string, Recoding>>();
  /** By the first line. */
  readonly #maps = new WeakMap<Directive, { readonly lines: readonly Directive[]; readonly maps: readonly CharsetMap[] }>();

  constructor(private readonly log: Log) {}

  compile(scope: CharsetScope): HttpHandlers | undefined {
    const { conf } = scope;
    const maps = this.#mapsOf(scope);
    if (conf.charset.constant === 'off') return undefined;
    const settings: Settings = {
      to: conf.charset,
      source: conf.source_charset,
      overrides: conf.override_charset,
      types: typesOf([conf.charset_types]),
      maps,
    };
    assertMap(scope, settings);
    return { header: (request) => this.#apply(request, settings) };
  }

  #mapsOf(scope: CharsetScope): readonly CharsetMap[] {
    const lines = scope.lines('charset_map');
    const [first] = lines;
    if (first === undefined) return [];
    const known = this.#maps.get(first);
    if (known?.lines.length === lines.length && known.lines.every((line, at) => line === lines[at])) return known.maps;
    const maps = readMaps(lines, scope);
    this.#maps.set(first, { lines, maps });
    return maps;
  }

  #apply(request: HttpRequest, settings: Settings): BodyFilter | undefined {
    const { response } = request;
    const type = response.get('Content-Type') ?? '';
    const to = settings.to.of(request);
    if (type === '' || to === '' || to === 'off' || request.parent !== undefined) return undefined;
    if ((response.get('Content-Encoding') ?? '') !== '' || !isOfType(request, settings.types)) return undefined;
    const own = PARAMETER.exec(type)?.[1];
    if (own !== undefined && !settings.overrides) return undefined;
    const from = (own ?? settings.source?.of(request) ?? '').toLowerCase();
    if (from === '' || from === 'off' || from === to.toLowerCase()) return setCharset(request, type, to);
    const map = findMap(settings.maps, from, to.toLowerCase());
    if (map === undefined) {
      this.log.write('error', `no "charset_map" between the charsets "${from}" and "${to}"`, request);
      return undefined;
    }
    setCharset(request, type, to);
    return this.#convert(request, map, from);
  }

  #convert(request: HttpRequest, map: CharsetMap, from: string): BodyFilter | undefined {
    const { response } = request;
    const found = this.#recoding(map, from);
    const length = response.get('Content-Length');
    if (!found.keepsLength) {
      response.remove('Content-Length');
      response.remove('Accept-Ranges');
    }
    return request.method === 'HEAD' ? undefined : found.create(length === undefined ? undefined : Number(length));
  }

  #recoding(map: CharsetMap, from: string): Recoding {
    const known = this.#recodings.get(map) ?? new Map<string, Recoding>();
    this.#recodings.set(map, known);
    const made = known.get(from) ?? recoding(map, from);
    known.set(from, made);
    return made;
  }
}

/** As in nginx, redirects have none: browsers of old took it for that of the next page. */
function setCharset({ status, response }: HttpRequest, type: string, charset: string): undefined {
  if (status !== 301 && status !== 302) response.set('Content-Type', `${type.replace(PARAMETER, '')}; charset=${charset}`);
}

/** If both charsets are known, there is a map between them. */
function assertMap(scope: CharsetScope, { to, source, maps }: Settings): void {
  const [target, from] = [to.constant?.toLowerCase(), source?.constant?.toLowerCase()];
  if (target === undefined || from === undefined || from === 'off' || target === from) return;
  if (findMap(maps, from, target) === undefined)
    scope.fail(`no "charset_map" between the charsets "${source?.constant}" and "${to.constant}"`, 'charset');
}
