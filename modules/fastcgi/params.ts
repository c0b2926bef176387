import type { HttpRequest, Template } from '../../core/contract/http.js';
import { nameValue } from './records.js';

/** A line of fastcgi_param. */
export interface Param {
  readonly name: string;
  readonly value: Template;
  readonly omitsEmpty: boolean;
}

/** Fields that concern the client's connection: they are not among those passed on, but applications get them. */
const CONNECTION_FIELDS = ['connection', 'content-length', 'expect', 'keep-alive', 'te', 'transfer-encoding', 'upgrade'];

/** Parameters of the requests of one location. Neighbouring constant ones are one text. */
export class Params {
  readonly #pieces: (string | Param)[] = [];
  readonly #names = new Set<string>();

  constructor(
    lines: readonly Param[],
    private readonly passesFields: boolean,
  ) {
    for (const line of lines) this.#add(line);
  }

  /** @param fields lines of the request, each with its CRLF */
  of(request: HttpRequest, fields: string): string {
    let text = '';
    for (const piece of this.#pieces) {
      if (typeof piece === 'string') text += piece;
      else {
        const value = piece.value.of(request);
        if (value !== '' || !piece.omitsEmpty) text += nameValue(piece.name, value);
      }
    }
    return this.passesFields ? text + this.#fields(request, fields) : text;
  }

  #add(line: Param): void {
    const { name, value, omitsEmpty } = line;
    this.#names.add(name);
    if (value.constant === undefined) this.#pieces.push(line);
    else if (value.constant !== '' || !omitsEmpty) {
      const text = nameValue(name, value.constant);
      const last = this.#pieces.at(-1);
      if (typeof last === 'string') this.#pieces[this.#pieces.length - 1] = last + text;
      else this.#pieces.push(text);
    }
  }

  /** Fields of the same name are one, as RFC 3875, 4.1.18, wants it. */
  #fields(request: HttpRequest, fields: string): string {
    const values = new Map<string, string>();
    for (const line of fields.split('\r\n')) {
      const colon = line.indexOf(':');
      if (colon > 0) this.#field(values, line.slice(0, colon), line.slice(colon + 1).trim());
    }
    for (const name of CONNECTION_FIELDS) {
      const value = request.header(name);
      if (value !== undefined) this.#field(values, name, value);
    }
    let text = '';
    for (const [name, value] of values) text += nameValue(name, value);
    return text;
  }

  #field(values: Map<string, string>, field: string, value: string): void {
    const name = `HTTP_${field.toUpperCase().replaceAll('-', '_')}`;
    if (this.#names.has(name)) return;
    const before = values.get(name);
    values.set(name, before === undefined ? value : before + (name === 'HTTP_COOKIE' ? '; ' : ', ') + value);
  }
}
