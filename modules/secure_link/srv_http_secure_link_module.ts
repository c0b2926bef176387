import { template, text } from '../../core/contract/args.js';
import type { HttpHandlers, HttpRequest, Scope, Template } from '../../core/contract/http.js';
import { httpModule } from '../../core/contract/manifest.js';
import { directive } from '../../core/contract/spec.js';
import type { Directive } from '../../core/contract/tree.js';

const IN = ['http', 'server', 'location'] as const;

const directives = {
  secure_link: directive({
    in: IN,
    args: template('expression'),
    doc: 'Where the checksum of a link is, and after a comma the time it expires: the text that `$secure_link` is about.',
  }),
  secure_link_md5: directive({
    in: IN,
    args: template('expression'),
    doc: 'Text whose MD5 hash is the checksum of a link; it should contain a secret.',
  }),
  secure_link_secret: directive({
    in: ['location'],
    args: text('word'),
    doc: 'A secret for links of the form `/prefix/hash/link`: the hash is that of the link followed by the secret.',
  }),
};

/** `hash` or `hash,expires`. */
const LINK = /^([^,]*)(?:,(.*))?$/s;
/** MD5 in base64 for URLs. */
const HASH = /^[\w-]{22}={0,2}$/;
/** The older form, of what the client has sent: `/prefix/hash/link`. */
const PATH = /^\/[^/]*\/([0-9a-f]{32})\/(.+)$/is;

/** Links with a checksum, which may expire (ngx_http_secure_link_module). */
@httpModule({ name: 'srv_http_secure_link_module', api: 1, directives })
export class SecureLink {
  readonly #templates = new WeakMap<Directive, Template>();

  readonly variables = {
    secure_link: (request: HttpRequest): string | undefined => {
      const secret = secretOf(request.scope);
      return secret === undefined ? this.#byExpressions(request) : byPath(request.requestUri, secret);
    },
    secure_link_expires: (request: HttpRequest): string | undefined => parseLink(this.#valueOf('secure_link', request))?.expires,
  };

  /** Nothing runs here, but errors are found. */
  compile(scope: Scope<typeof directives>): HttpHandlers | undefined {
    if (scope.own('secure_link_secret') && (scope.own('secure_link') || scope.own('secure_link_md5')))
      scope.fail('"secure_link_secret" cannot be mixed with "secure_link" and "secure_link_md5"');
    return undefined;
  }

  /** `1`: the link is right, `0`: it was and is expired. */
  #byExpressions(request: HttpRequest): string | undefined {
    const link = parseLink(this.#valueOf('secure_link', request));
    const hashed = this.#valueOf('secure_link_md5', request);
    if (link === undefined || hashed === undefined || !HASH.test(link.hash)) return undefined;
    if (!isMd5(hashed, Buffer.from(link.hash, 'base64url'))) return undefined;
    return link.expires !== undefined && Number(link.expires) < Math.floor(Date.now() / 1000) ? '0' : '1';
  }

  #valueOf(name: string, request: HttpRequest): string | undefined {
    const { scope } = request;
    const [line] = scope.lines(name);
    if (line === undefined) return undefined;
    const known = this.#templates.get(line) ?? scope.args.template(line.args[0]?.text ?? '');
    this.#templates.set(line, known);
    return known.of(request);
  }
}

/** The current secret: where a block between has expressions of its own, they are. */
function secretOf(scope: Scope): string | undefined {
  for (let level: Scope | undefined = scope; level !== undefined; level = level.parent) {
    if (level.own('secure_link_secret')) return level.lines('secure_link_secret')[0]?.args[0]?.text;
    if (level.own('secure_link') || level.own('secure_link_md5')) return undefined;
  }
  return undefined;
}

interface Link {
  readonly hash: string;
  /** Seconds since 1970. */
  readonly expires: string | undefined;
}

/** Undefined: there is none, or it does not say when it expires as it should. */
function parseLink(value: string | undefined): Link | undefined {
  if (value === undefined) return undefined;
  const [, hash = '', expires] = LINK.exec(value) ?? [];
  return expires === undefined || (/^\d{1,15}$/.test(expires) && Number(expires) > 0) ? { hash, expires } : undefined;
}

/** The link, if the hash in front of it is right. */
function byPath(target: string, secret: string): string | undefined {
  const [, hash = '', link] = PATH.exec(target) ?? [];
  return link !== undefined && isMd5(link + Buffer.from(secret).latin1Slice(), Buffer.from(hash, 'hex')) ? link : undefined;
}

/** @param bytes as a latin1 string */
function isMd5(bytes: string, expected: Buffer): boolean {
  const crypto = process.getBuiltinModule('node:crypto');
  const digest = crypto.createHash('md5').update(bytes, 'latin1').digest();
  return digest.length === expected.length && crypto.timingSafeEqual(digest, expected);
}
