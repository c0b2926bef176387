import type { HttpRequest } from '../../core/contract/http.js';

export type ProxiedCase = 'off' | 'expired' | 'no-cache' | 'no-store' | 'private' | 'no_last_modified' | 'no_etag' | 'auth' | 'any';

/** Which clients get compressed responses. */
export interface ClientRules {
  /** `gzip_http_version 1.0`. */
  readonly http10: boolean;
  /** `gzip_proxied`. */
  readonly proxied: ReadonlySet<ProxiedCase>;
  /** `gzip_disable`: User-Agent fields. */
  readonly disabled: readonly RegExp[];
}

/** `gzip` as an element of its own, with all its parameters. */
const GZIP = /(?:^|[ ,])gzip *(?:;([^,]*))?(?:,|$)/i;
/** A weight above zero, as RFC 9110, 12.4.2 has it. */
const WEIGHT = /^ *q=(?:1(?:\.0{0,3})?|0\.(?=\d{0,2}[1-9])\d{1,3}) *$/i;

/** True if the client takes gzip, and gets it. */
export function takesGzip(request: HttpRequest, rules: ClientRules): boolean {
  if (request.parent !== undefined) return false;
  if (!acceptsGzip(request.header('accept-encoding'))) return false;
  if (!rules.http10 && (request.protocol === 'HTTP/1.0' || request.protocol === 'HTTP/0.9')) return false;
  const agent = rules.disabled.length > 0 ? request.header('user-agent') : undefined;
  if (agent !== undefined && rules.disabled.some((pattern) => pattern.test(agent))) return false;
  return request.header('via') === undefined || isForProxies(request, rules.proxied);
}

function acceptsGzip(field: string | undefined): boolean {
  if (field === undefined) return false;
  const found = GZIP.exec(field);
  if (found === null) return false;
  const [, parameters] = found;
  return parameters === undefined || WEIGHT.test(parameters);
}

/** The first of Expires and Cache-Control that is there decides. */
function isForProxies(request: HttpRequest, cases: ReadonlySet<ProxiedCase>): boolean {
  if (cases.has('any')) return true;
  if (cases.has('off')) return false;
  if (cases.has('auth') && request.header('authorization') !== undefined) return true;
  const { response } = request;
  const expires = response.get('Expires');
  if (expires !== undefined) return cases.has('expired') && Date.parse(expires) < Date.now();
  const control = response.get('Cache-Control')?.toLowerCase();
  if (control !== undefined) {
    const words = ['no-cache', 'no-store', 'private'] as const;
    return words.some((word) => cases.has(word) && control.includes(word));
  }
  if (cases.has('no_last_modified') && response.get('Last-Modified') !== undefined) return false;
  return !cases.has('no_etag') || response.get('ETag') === undefined;
}
