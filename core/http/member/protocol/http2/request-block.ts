import type { AttemptHead } from '../../../../contract/member.js';
import { HpackEncoder, stringLiteral } from '../../../../net/http2/hpack-encoder.js';

/** Fields of a connection of HTTP/1, which HTTP/2 does not have (RFC 9113, 8.2.2), and Host, whose place :authority takes. */
const NOT_SENT = new Set(['connection', 'host', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']);

/** Numbers in the static table, as whole fields and as names of literals (RFC 7541, Appendix A). */
const METHODS: Readonly<Record<string, string>> = { GET: '\x82', POST: '\x83' };
const METHOD_NAME = '\x02';
const ROOT_PATH = '\x84';
const PATH_NAME = '\x04';
const AUTHORITY_NAME = '\x01';
const HTTP = '\x86';
const HTTPS = '\x87';

/** Encodes the heads of requests. Repeated parts are kept in their encoded form, for all connections of the thread: nothing enters their tables. */
export class RequestBlocks {
  readonly #encoder = new HpackEncoder();
  #recentFields = '';
  #recentBlock = '';

  encode({ method, target, fields, length }: AttemptHead, secure: boolean): string {
    const known = METHODS[method] ?? METHOD_NAME + stringLiteral(method);
    const path = target === '/' ? ROOT_PATH : PATH_NAME + stringLiteral(target);
    const block = known + (secure ? HTTPS : HTTP) + path + this.#fields(fields);
    return length >= 0 ? block + this.#encoder.contentLength(length) : block;
  }

  /** Trailers. */
  lines(text: string): string {
    let block = '';
    for (let from = 0; from < text.length;) {
      const end = text.indexOf('\r\n', from) + 2;
      block += this.#encoder.line(text.slice(from, end));
      from = end;
    }
    return block;
  }

  #fields(text: string): string {
    if (text === this.#recentFields) return this.#recentBlock;
    let authority = '';
    let block = '';
    for (let from = 0; from < text.length;) {
      const end = text.indexOf('\r\n', from) + 2;
      const line = text.slice(from, end);
      const colon = line.indexOf(':');
      const name = line.slice(0, colon).toLowerCase();
      if (name === 'host' && authority === '') authority = AUTHORITY_NAME + stringLiteral(line.slice(colon + 1).trim());
      else if (
        !NOT_SENT.has(name) &&
        (name !== 'te' ||
          line
            .slice(colon + 1)
            .trim()
            .toLowerCase() === 'trailers')
      )
        block += this.#encoder.line(line);
      from = end;
    }
    this.#recentFields = text;
    this.#recentBlock = authority + block;
    return this.#recentBlock;
  }
}
