import type { ResponseHeaders } from '../../contract/http.js';
import { fieldLine } from '../../contract/message-text.js';

/** Fields that nginx sends before all others, in this order; Content-Length and Connection are between them. */
const enum LeadingField {
  None = -1,
  ContentType,
  LastModified,
  Location,
}

/**
 * The header fields of one response. Leading fields have a place of their own, the others stay one text, exactly as they will be sent,
 * until a single field is needed: appending is a concatenation, and fields of an upstream are never split.
 */
export class HeaderList implements ResponseHeaders {
  /** Bytes of the body as its source knows them, -1: unknown. It is the Content-Length unless a body filter changes that. */
  length = -1;
  allowsRanges = false;
  /** Lines with their CRLF, or empty. */
  contentType = '';
  lastModified = '';
  location = '';
  /** Fields may follow the body. */
  hasTrailers = false;
  /** Their lines, each with its CRLF, as far as they are known. */
  trailers = '';
  readonly lateTrailers: { readonly name: string; readonly value: () => string }[] = [];
  #text = '';
  #lines: string[] | null = null;

  /** All other fields as they go out: `Name: value` lines, each ended with CRLF. */
  get text(): string {
    return this.#lines === null ? this.#text : this.#lines.join('');
  }

  /** Adds lines after the existing ones. Each must end with CRLF, and none may be a leading field or Content-Length. */
  appendLines(text: string): void {
    if (this.#lines === null) this.#text += text;
    else if (text !== '') this.#lines.push(...linesOf(text));
  }

  /** The lines of all fields, for {@link restore}. */
  snapshot(): readonly string[] {
    return [this.contentType, this.lastModified, this.location, this.text];
  }

  /** Makes the fields those of a snapshot. */
  restore([contentType = '', lastModified = '', location = '', text = '']: readonly string[]): void {
    this.contentType = contentType;
    this.lastModified = lastModified;
    this.location = location;
    this.#text = text;
    this.#lines = null;
  }

  /** Removes everything. */
  clear(): void {
    this.length = -1;
    this.allowsRanges = false;
    this.contentType = this.lastModified = this.location = '';
    this.hasTrailers = false;
    this.trailers = '';
    this.lateTrailers.length = 0;
    this.#text = '';
    this.#lines = null;
  }

  appendTrailer(name: string, value: () => string): void {
    this.hasTrailers = true;
    this.lateTrailers.push({ name, value });
  }

  get(name: string): string | undefined {
    const leading = leadingField(name);
    if (leading !== LeadingField.None) return valueOf(this.#leading(leading), name);
    if (isContentLength(name)) return this.length < 0 ? undefined : String(this.length);
    return valueOf(this.#split().find((candidate) => isNamed(candidate, name)) ?? '', name);
  }

  /** The values of all fields of that name, joined with commas (RFC 9110, 5.3). */
  all(name: string): string | undefined {
    if (leadingField(name) !== LeadingField.None || isContentLength(name)) return this.get(name);
    const values = this.#split().flatMap((line) => (isNamed(line, name) ? [valueOf(line, name)] : []));
    return values.length === 0 ? undefined : values.join(', ');
  }

  set(name: string, value: string): void {
    const leading = leadingField(name);
    if (leading !== LeadingField.None) {
      this.#setLeading(leading, fieldLine(name, value));
      return;
    }
    if (isFraming(name)) return;
    if (this.#lines === null && this.#text === '') {
      this.#text = fieldLine(name, value);
      return;
    }
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
    const leading = leadingField(name);
    if (leading !== LeadingField.None) this.#setLeading(leading, fieldLine(name, value));
    else if (isFraming(name)) return;
    else if (this.#lines === null) this.#text += fieldLine(name, value);
    else this.#lines.push(fieldLine(name, value));
  }

  remove(name: string): void {
    if (name.length === 13 && name.toLowerCase() === 'accept-ranges') this.allowsRanges = false;
    const leading = leadingField(name);
    if (leading !== LeadingField.None) this.#setLeading(leading, '');
    else if (isContentLength(name)) this.length = -1;
    else if (isFraming(name)) return;
    else if (this.#text !== '' || this.#lines !== null) this.#lines = this.#split().filter((line) => !isNamed(line, name));
  }

  /** All fields in the order in which they are sent. */
  *entries(): Generator<readonly [name: string, value: string]> {
    for (const line of [this.contentType, this.lastModified, this.location, ...this.#split()]) {
      const colon = line.indexOf(':');
      if (colon > 0) yield [line.slice(0, colon), line.slice(colon + 1, -2).trim()];
    }
  }

  #leading(field: LeadingField): string {
    if (field === LeadingField.ContentType) return this.contentType;
    return field === LeadingField.LastModified ? this.lastModified : this.location;
  }

  #setLeading(field: LeadingField, line: string): void {
    if (field === LeadingField.ContentType) this.contentType = line;
    else if (field === LeadingField.LastModified) this.lastModified = line;
    else this.location = line;
  }

  #split(): string[] {
    if (this.#lines === null) {
      this.#lines = this.#text === '' ? [] : linesOf(this.#text);
      this.#text = '';
    }
    return this.#lines;
  }
}

function linesOf(text: string): string[] {
  return text
    .slice(0, -2)
    .split('\r\n')
    .map((line) => `${line}\r\n`);
}

function leadingField(name: string): LeadingField {
  switch (name.length) {
    case 8:
      return isSameName(name, 'location', 0x6c) ? LeadingField.Location : LeadingField.None;
    case 12:
      return isSameName(name, 'content-type', 0x63) ? LeadingField.ContentType : LeadingField.None;
    case 13:
      return isSameName(name, 'last-modified', 0x6c) ? LeadingField.LastModified : LeadingField.None;
    default:
      return LeadingField.None;
  }
}

/** @param first letter of the lower case: most others differ in it */
function isSameName(name: string, lowerName: string, first: number): boolean {
  return (name.charCodeAt(0) | 0x20) === first && name.toLowerCase() === lowerName;
}

const isContentLength = (name: string): boolean => name.length === 14 && name.toLowerCase() === 'content-length';

/** Fields that the engine writes itself, because they frame the message: no module sets or removes them. */
function isFraming(name: string): boolean {
  switch (name.length) {
    case 4:
      return name.toLowerCase() === 'date';
    case 10:
      return /^(?:connection|keep-alive)$/i.test(name);
    case 14:
      return isContentLength(name);
    case 17:
      return name.toLowerCase() === 'transfer-encoding';
    default:
      return false;
  }
}

function valueOf(line: string, name: string): string | undefined {
  return line === '' ? undefined : line.slice(name.length + 1, -2).trim();
}

function isNamed(line: string, name: string): boolean {
  return (
    line.length > name.length && line.charCodeAt(name.length) === 58 && line.slice(0, name.length).toLowerCase() === name.toLowerCase()
  );
}
