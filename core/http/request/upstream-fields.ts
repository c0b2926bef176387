import type { UpstreamHeaders } from '../../contract/http.js';
import { fieldLine } from '../../contract/message-text.js';

/** Fields that frame the request to a member or concern one connection: only the engine sets them. */
const FRAMING = new Set(['connection', 'content-length', 'expect', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade']);

/** The fields that handlers of a request have set or removed for its upstream. */
export class UpstreamFields implements UpstreamHeaders {
  /** By name in lower case: a line with its CRLF, empty for one that is removed. */
  readonly #lines = new Map<string, string>();

  set(name: string, value: string): void {
    const line = fieldLine(name, value);
    if (!FRAMING.has(name.toLowerCase())) this.#lines.set(name.toLowerCase(), line);
  }

  remove(name: string): void {
    if (!FRAMING.has(name.toLowerCase())) this.#lines.set(name.toLowerCase(), '');
  }

  /** Names in lower case of the fields that are not as the client or the configuration have them. */
  get names(): Iterable<string> {
    return this.#lines.keys();
  }

  /** It is set or removed. */
  has(lowerName: string): boolean {
    return this.#lines.has(lowerName);
  }

  /** The plan's own lines, those of the same names replaced. Host comes first, as it does in them. */
  applyTo(lines: string): string {
    const kept = lines.split('\r\n').filter((line) => line !== '' && !this.#lines.has(line.slice(0, line.indexOf(':')).toLowerCase()));
    const host = this.#lines.get('host') ?? '';
    const own = [...this.#lines].filter(([name]) => name !== 'host').map(([, line]) => line);
    return host + kept.map((line) => `${line}\r\n`).join('') + own.join('');
  }
}
