import { isUtf8 } from 'node:buffer';

/** Fields of a form with `multipart/form-data`. */
export interface Multipart {
  readonly texts: [name: string, value: string][];
  /** Fields with files and the names of these, without their content. An empty name: no file was chosen. */
  readonly files: [name: string, file: string][];
}

const TYPE = /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"\r\n]{1,70})"|([^\s;"]{1,70}))/i;
const DISPOSITION = /^content-disposition:\s*form-data\s*;(.*)$/im;
const PARAMETER = /;\s*(name|filename)="((?:[^"\\\r\n]|\\.)*)"/gi;
/** Browsers write these characters of names in this form. */
const ESCAPES: Readonly<Record<string, string>> = { '%0D': '\r', '%0A': '\n', '%22': '"' };

/** The boundary of a Content-Type with `multipart/form-data`. Undefined: it is another type. */
export function boundaryOf(type: string): string | undefined {
  const [, quoted, plain] = TYPE.exec(type) ?? [];
  return quoted ?? plain;
}

/** Parses a form (RFC 7578). Undefined: it is malformed, or a text is not UTF-8. */
export function parseMultipart(body: Buffer, boundary: string): Multipart | undefined {
  const parts = `\r\n${body.toString('latin1')}`.split(`\r\n--${boundary}`);
  if (!parts.at(-1)!.startsWith('--') || parts.length < 2) return undefined;
  const form: Multipart = { texts: [], files: [] };
  for (const part of parts.slice(1, -1)) if (!addPart(form, part)) return undefined;
  return form;
}

function addPart(form: Multipart, part: string): boolean {
  const start = part.indexOf('\r\n');
  const end = part.indexOf('\r\n\r\n', start);
  const [, parameters] = DISPOSITION.exec(part.slice(start, end).replaceAll('\r\n', '\n')) ?? [];
  if (start < 0 || end < 0 || part.slice(0, start).trim() !== '' || parameters === undefined) return false;
  const found = new Map(
    Array.from(`;${parameters}`.matchAll(PARAMETER), ([, name = '', value = '']) => [name.toLowerCase(), nameOf(value)]),
  );
  const [name, file] = [found.get('name'), found.get('filename')];
  if (name === undefined) return false;
  if (file !== undefined) return form.files.push([name, file]) > 0;
  const value = textOf(part.slice(end + 4));
  return value !== undefined && form.texts.push([name, value]) > 0;
}

function nameOf(written: string): string {
  return (textOf(written) ?? '').replaceAll(/%0D|%0A|%22/g, (escape) => ESCAPES[escape]!);
}

function textOf(bytes: string): string | undefined {
  const buffer = Buffer.from(bytes, 'latin1');
  return isUtf8(buffer) ? buffer.toString() : undefined;
}
