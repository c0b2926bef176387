import type { ResponseHeaders } from '../../module/http.js';
import { fieldLine } from '../../module/message-text.js';

/**
 * The header fields of one answer. They stay one text, exactly as they will be sent, for as long as nobody asks for a single field:
 * appending is a concatenation, and what an upstream sent is never taken apart.
 */
export class HeaderList implements ResponseHeaders {
  #text = '';
  #lines: string[] | null = null;

  /** The fields as they go out: `Name: value` lines, each ended with CRLF. */
  get text(): string {
    return this.#lines === null ? this.#text : this.#lines.join('');
  }

  /** Replaces everything by these lines. Each must end with CRLF. */
  adopt(text: string): void {
    this.#text = text;
    this.#lines = null;
  }

  get(name: string): string | undefined {
    const line = this.#split().find((candidate) => isNamed(candidate, name));
    return line?.slice(name.length + 1, -2).trim();
  }

  set(name: string, value: string): void {
    const lines = this.#split();
    const at = lines.findIndex((line) => isNamed(line, name));
    if (at < 0) {
      lines.push(fieldLine(name, value));
      return;
    }
    lines[at] = fieldLine(name, value);
    for (let i = lines.length - 1; i > at; i--) if (isNamed(lines[i] ?? '', name)) lines.splice(i, 1);
  }

  append(name: string, value: string): void {
    if (this.#lines === null) this.#text += fieldLine(name, value);
    else this.#lines.push(fieldLine(name, value));
  }

  remove(name: string): void {
    if (this.#text === '' && this.#lines === null) return;
    this.#lines = this.#split().filter((line) => !isNamed(line, name));
  }

  #split(): string[] {
    if (this.#lines === null) {
      this.#lines = this.#text === '' ? [] : this.#text.slice(0, -2).split('\r\n').map(withLineEnd);
      this.#text = '';
    }
    return this.#lines;
  }
}

const withLineEnd = (line: string): string => `${line}\r\n`;

function isNamed(line: string, name: string): boolean {
  return (
    line.length > name.length && line.charCodeAt(name.length) === 58 && line.slice(0, name.length).toLowerCase() === name.toLowerCase()
  );
}
