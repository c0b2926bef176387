import type * as Zlib from 'node:zlib';
import { argType } from '../../core/contract/arg-type.js';
import { choice, flag, number, rest, size, text } from '../../core/contract/args.js';
import type { BodyFilter, HttpHandlers, HttpRequest, ResponseHeaders, Scope, VariableGetter } from '../../core/contract/http.js';
import { httpModule } from '../../core/contract/manifest.js';
import { CodecPool } from '../../core/toolkit/codec.js';
import { compilePattern } from '../../core/toolkit/pattern.js';
import { isOfType, typesOf, weakenTag } from '../../core/contract/response-fields.js';
import { ArgError, directive, type ArgType } from '../../core/contract/spec.js';
import type { Directive } from '../../core/contract/tree.js';
import { takesGzip, type ClientRules, type ProxiedCase } from './clients.js';
import { compressor, smaller, type Compression, type CompressionLevel, type Compressor } from './compressor.js';

const IN = ['http', 'server', 'location'] as const;

/** A size that is a power of two. */
function powerOfTwo(least: number, most: number, meaning: string): ArgType<number> {
  const type = size();
  return {
    ...type,
    parse(value, context) {
      const bytes = type.parse(value, context);
      if (bytes >= least && bytes <= most && Number.isInteger(Math.log2(bytes))) return bytes;
      throw new ArgError(`invalid value "${value}"`, meaning);
    },
  };
}

/** The MSIE that cannot decompress, see gzip_disable. */
const MSIE6 = /MSIE [4-6]\.(?!.*SV1)/;

/** Of a word that is accepted and has no effect. */
const NOBODY = /(?!)/;

function agents(): ArgType<RegExp> {
  return argType({
    kind: 'text',
    form: 'regex | msie6',
    parse(value) {
      if (value === 'msie6') return MSIE6;
      return value === 'degradation' ? NOBODY : compilePattern(value, true);
    },
  });
}

const directives = {
  gzip: directive({ in: [...IN, 'if in location'], args: flag(), default: 'off', doc: 'Compresses responses.' }),
  gzip_buffers: directive({ in: IN, args: { number: number({ min: 1 }), size: size() }, doc: 'Accepted: buffers grow as needed.' }),
  gzip_comp_level: directive({
    in: IN,
    args: number({ min: 1, max: 9 }),
    default: '1',
    doc: 'Compression level, from 1 (fast) to 9 (small).',
  }),
  gzip_disable: directive({
    in: IN,
    args: { agents: rest(agents()) },
    many: true,
    doc: 'Regular expressions: clients with such a User-Agent get no compressed responses.',
  }),
  gzip_hash: directive({
    in: IN,
    args: powerOfTwo(512, 131_072, 'must be 512, 1k, 2k, 4k, 8k, 16k, 32k, 64k, or 128k'),
    default: '64k',
    doc: 'Memory for the compression of a response.',
  }),
  gzip_http_version: directive({
    in: IN,
    args: choice('1.0', '1.1'),
    default: '1.1',
    doc: 'Minimum HTTP version of a request whose response is compressed.',
  }),
  gzip_min_length: directive({ in: IN, args: size(), default: '20', doc: 'Minimum Content-Length of a response that is compressed.' }),
  gzip_no_buffer: directive({ in: IN, args: flag(), default: 'off', doc: 'Accepted: compressed data is always sent at once.' }),
  gzip_proxied: directive({
    in: IN,
    args: {
      cases: rest(choice('off', 'expired', 'no-cache', 'no-store', 'private', 'no_last_modified', 'no_etag', 'auth', 'any')),
    },
    default: 'off',
    doc: 'Compresses responses to requests of proxies (with a field Via) in these cases.',
  }),
  gzip_types: directive({
    in: IN,
    args: { types: rest(text('mime-type')) },
    many: true,
    doc: 'Content types to compress beside text/html; * is any.',
  }),
  gzip_vary: directive({
    in: IN,
    args: flag(),
    default: 'off',
    doc: 'Sends Vary: Accept-Encoding with what is compressed for some clients.',
  }),
  gzip_window: directive({
    in: IN,
    args: powerOfTwo(1024, 32_768, 'must be 1k, 2k, 4k, 8k, 16k, or 32k'),
    default: '32k',
    doc: 'Window of the compression.',
  }),
};

type GzipScope = Scope<typeof directives>;

/** Questions of other modules about clients: srv_http_gunzip_module. */
export abstract class GzipClients {
  static readonly service = 'srv.gzip-clients';
  /** True if the client gets the response compressed, by the directives where the request is now. Adds Vary if it is to be. */
  abstract negotiate(request: HttpRequest): boolean;
  /** The fields of a response whose body gets another coding, or none. */
  abstract recode(response: ResponseHeaders, coding: 'gzip' | undefined): void;
}

interface Negotiation {
  readonly rules: ClientRules;
  readonly vary: boolean;
}

const DEFAULTS: Negotiation = { rules: { http10: false, proxied: new Set(['off']), disabled: [] }, vary: false };
/** Key of a request whose response depends on Accept-Encoding: a 416 in its place says so as well (nginx). */
const VARIES = {};
const NEGOTIATED = ['gzip_disable', 'gzip_http_version', 'gzip_proxied', 'gzip_vary'];

/** Compresses responses (ngx_http_gzip_module). */
@httpModule({ name: 'srv_http_gzip_module', api: '1.1', directives, provides: [GzipClients], phases: { header: 900 } })
export class Gzip extends GzipClients {
  readonly variables: Readonly<Record<string, VariableGetter>> = { gzip_ratio: (request) => ratioOf(request.get(this)) };
  /** Of the blocks where not all is as by default. */
  readonly #negotiations = new WeakMap<Directive, Negotiation>();
  readonly #pool = new CodecPool<Zlib.Gzip>();

  negotiate(request: HttpRequest): boolean {
    const { directive: block } = request.scope;
    return negotiated(request, (block && this.#negotiations.get(block)) ?? DEFAULTS);
  }

  recode(response: ResponseHeaders, coding: 'gzip' | undefined): void {
    if (coding === undefined) response.remove('Content-Encoding');
    else response.set('Content-Encoding', coding);
    response.remove('Accept-Ranges');
    weakenTag(response);
  }

  compile(scope: GzipScope): HttpHandlers | undefined {
    const { conf } = scope;
    const negotiation = negotiationOf(scope);
    if (negotiation !== DEFAULTS && scope.directive !== undefined) this.#negotiations.set(scope.directive, negotiation);
    if (!conf.gzip) return undefined;
    const types = typesOf(conf.gzip_types);
    const full: CompressionLevel = {
      zlib: process.getBuiltinModule('node:zlib'),
      pool: this.#pool,
      level: conf.gzip_comp_level,
      windowBits: Math.log2(conf.gzip_window),
      memLevel: Math.log2(conf.gzip_hash) - 8,
    };
    const compression: Compression = { ...full, small: smaller(full) };
    const { gzip_min_length: least } = conf;
    return {
      header: (request) => {
        if (request.status === 416 && request.get(VARIES) === true) addVary(request);
        return isCompressible(request, types, least) && negotiated(request, negotiation) ? this.#compress(request, compression) : undefined;
      },
    };
  }

  /** Undefined: there is no body, and the fields are those of one (RFC 9110, 9.3.2). */
  #compress(request: HttpRequest, compression: Compression): BodyFilter | undefined {
    const { response } = request;
    if (request.method === 'HEAD') {
      this.recode(response, 'gzip');
      response.remove('Content-Length');
      return undefined;
    }
    const filter = compressor(lengthOf(response), compression);
    request.set(this, filter);
    this.recode(response, 'gzip');
    return filter;
  }
}

function negotiationOf(scope: GzipScope): Negotiation {
  if (NEGOTIATED.every((name) => scope.lines(name).length === 0)) return DEFAULTS;
  const { conf } = scope;
  const proxied: ReadonlySet<ProxiedCase> = new Set(conf.gzip_proxied.cases);
  const disabled = conf.gzip_disable.flatMap((line) => line.agents.filter((agent) => agent !== NOBODY));
  return { rules: { http10: conf.gzip_http_version === '1.0', proxied, disabled }, vary: conf.gzip_vary };
}

function negotiated(request: HttpRequest, { rules, vary }: Negotiation): boolean {
  if (vary) {
    request.set(VARIES, true);
    addVary(request);
  }
  return takesGzip(request, rules);
}

function addVary(request: HttpRequest): void {
  if (!/(?:^|[ ,])(?:\*|accept-encoding) *(?:,|$)/i.test(request.variable('sent_http_vary') ?? ''))
    request.response.append('Vary', 'Accept-Encoding');
}

/** 206 and responses without a body are not among them. */
function isCompressible(request: HttpRequest, types: ReadonlySet<string>, least: number): boolean {
  const { status, response } = request;
  if (status !== 200 && status !== 403 && status !== 404) return false;
  if ((response.get('Content-Encoding') ?? '') !== '') return false;
  if (!isOfType(request, types)) return false;
  const length = lengthOf(response);
  return length === undefined || length >= least;
}

function lengthOf(response: ResponseHeaders): number | undefined {
  const length = response.get('Content-Length');
  return length === undefined ? undefined : Number(length);
}

function ratioOf(filter: unknown): string | undefined {
  if (filter === undefined) return undefined;
  const { bytesIn, bytesOut } = filter as Compressor;
  return bytesOut === 0 ? undefined : (bytesIn / bytesOut).toFixed(2);
}
