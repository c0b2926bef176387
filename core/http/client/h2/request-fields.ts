import { hostNameEnd, normalHostName } from '../../../net/http1/host.js';
import type { HeadLimits } from '../../../net/http1/message-head.js';
import type { FieldSink } from '../../../net/http2/hpack-decoder.js';

/** A malformed request (RFC 9113, 8.1.1): its stream is reset. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const METHOD = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Characters that would end a line or a target of HTTP/1. */
const NOT_IN_TARGET = /[\0-\x20\x7f]/;
const NOT_IN_VALUE = /[\0\r\n]/;
/** Fields of a connection, which HTTP/2 does not have (RFC 9113, 8.2.2). */
const CONNECTION_FIELDS = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']);

interface ServerWithLimits {
  readonly settings: { readonly headLimits: Pick<HeadLimits, 'total'> };
}

/** The servers that fields may be for: each has limits of its own. */
interface ServersWithLimits {
  readonly defaultServer: ServerWithLimits;
  find(host: string): { readonly server: ServerWithLimits };
}

/**
 * The fields of one request as the decoder gives them, brought into the form of an HTTP/1 head: so that limits, lookups and what goes on to
 * a member are the same for both.
 */
export class RequestFields implements FieldSink {
  /** Why the request is malformed; empty: it is not. */
  malformed = '';
  /** More came than the limit allows; what came after that is not in the text. */
  isTooLarge = false;
  #method = '';
  #path = '';
  #scheme = '';
  #authority: string | undefined = undefined;
  #host: string | undefined = undefined;
  #cookie = '';
  #lines = '';
  #size = 0;
  #regular = false;
  /** Bytes of names and values: those of the default server until more come. */
  #limit: number;

  constructor(
    private readonly servers: ServersWithLimits,
    /** These are trailers: no pseudo-header fields. */
    private readonly isTrailer: boolean,
  ) {
    this.#limit = servers.defaultServer.settings.headLimits.total;
  }

  onField(name: string, value: string): void {
    this.#size += name.length + value.length + 4;
    if (this.#size > this.#limit && !this.isTooLarge) this.#refuseLarge();
    if (this.isTooLarge || this.malformed !== '') return;
    if (name.startsWith(':')) this.#pseudo(name, value);
    else this.#field(name, value);
  }

  /** The head of an HTTP/1.1 request; empty for one that is malformed. */
  head(): string {
    if (this.malformed === '') this.malformed = this.#incomplete();
    if (this.malformed !== '') return '';
    const host = this.#authority ?? this.#host;
    const cookie = this.#cookie === '' ? '' : `cookie: ${this.#cookie}\r\n`;
    const target = this.#method === 'CONNECT' ? this.#authority : this.#path;
    return `${this.#method} ${target} HTTP/1.1\r\n${host === undefined ? '' : `host: ${host}\r\n`}${this.#lines}${cookie}\r\n`;
  }

  /** Of trailers: the field lines, each with its CRLF. */
  get lines(): string {
    return this.#lines;
  }

  /** Field lines of {@link head} that were not sent as fields: Host of `:authority`. */
  get uncounted(): number {
    return this.#authority !== undefined && this.#host === undefined ? 1 : 0;
  }

  /** For the log, of a request that is rejected: as much of its line as there is. */
  get line(): string {
    return `${this.#method} ${this.#path} HTTP/2.0`;
  }

  /** The host they are for, as servers are looked up by; empty: none yet. The pseudo-header fields come first. */
  get host(): string {
    const authority = this.#authority ?? this.#host ?? '';
    const bytes = Buffer.from(authority, 'latin1');
    const end = hostNameEnd(bytes, 0, bytes.length);
    return end < 0 ? '' : normalHostName(authority, 0, end);
  }

  #refuseLarge(): void {
    this.#limit = this.servers.find(this.host).server.settings.headLimits.total;
    this.isTooLarge = this.#size > this.#limit;
  }

  #pseudo(name: string, value: string): void {
    if (this.isTrailer) this.malformed = 'pseudo-header field in trailers';
    else if (this.#regular) this.malformed = `pseudo-header field "${name}" after other fields`;
    else if (name === ':method') this.#method = this.#once(name, this.#method, value, METHOD.test(value));
    else if (name === ':path') this.#path = this.#once(name, this.#path, value, value !== '' && !NOT_IN_TARGET.test(value));
    else if (name === ':scheme') this.#scheme = this.#once(name, this.#scheme, value, value === 'http' || value === 'https');
    else if (name === ':authority') this.#authority = this.#once(name, this.#authority ?? '', value, !NOT_IN_TARGET.test(value));
    else this.malformed = `unknown pseudo-header field "${name}"`;
  }

  #once(name: string, before: string, value: string, valid: boolean): string {
    if (before !== '') this.malformed = `duplicate pseudo-header field "${name}"`;
    else if (!valid) this.malformed = `invalid pseudo-header field "${name}"`;
    return value;
  }

  #field(name: string, value: string): void {
    this.#regular = true;
    if (!TOKEN.test(name)) this.malformed = `invalid header name "${name}"`;
    else if (isBlank(value.charCodeAt(0)) || isBlank(value.charCodeAt(value.length - 1)) || NOT_IN_VALUE.test(value))
      this.malformed = `invalid value of header "${name}"`;
    else if (CONNECTION_FIELDS.has(name) || (name === 'te' && value !== 'trailers'))
      this.malformed = `connection-specific header "${name}"`;
    else if (name === 'host') this.#takeHost(value);
    else if (name === 'cookie') this.#cookie += (this.#cookie === '' ? '' : '; ') + value;
    else this.#lines += `${name}: ${value}\r\n`;
  }

  /** The authority counts, and a host that differs from it is an attempt to be routed by one and served by the other. */
  #takeHost(value: string): void {
    if (this.#host !== undefined) this.malformed = 'duplicate host';
    else if (this.#authority !== undefined && this.#authority.toLowerCase() !== value.toLowerCase())
      this.malformed = 'host differs from :authority';
    else this.#host = value;
  }

  #incomplete(): string {
    if (this.isTrailer) return '';
    if (this.#method === '') return 'no :method';
    if (this.#method === 'CONNECT')
      return this.#authority === undefined || this.#path !== '' || this.#scheme !== '' ? 'invalid CONNECT' : '';
    if (this.#scheme === '') return 'no :scheme';
    if (this.#path === '') return 'no :path';
    return this.#path.startsWith('/') || (this.#path === '*' && this.#method === 'OPTIONS') ? '' : 'invalid :path';
  }
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
