import { isUtf8 } from 'node:buffer';
import { ApiError } from '../../core/contract/control.js';
import type { HttpRequest } from '../../core/contract/http.js';
import { boundaryOf, parseMultipart } from './multipart.js';
import { digestOf } from './sealed-challenge.js';

/** The most bytes of the body of a form that is kept in the page. */
export const LONGEST_FORM = 65_536;
const URLENCODED = 'application/x-www-form-urlencoded';
const MULTIPART = 'multipart/form-data';
const PLAIN = 'text/plain';
/** As `enctype` of a form. */
const ENCTYPES = [URLENCODED, MULTIPART, PLAIN] as const;
export type Enctype = (typeof ENCTYPES)[number];
const TYPE = /^([\w/+-]+)\s*(?:;\s*charset="?utf-8"?\s*)?$/i;

/** A form that is sent again. Fields are written as in a query. */
interface KeptForm {
  /** Undefined: no form is kept. */
  readonly enctype?: Enctype | undefined;
  readonly form: string;
  /** Fields with files, and the names of these. */
  readonly files: string;
}

export const NO_FORM: KeptForm = { form: '', files: '' };

/** The request that a page leads back to. */
export interface Original extends KeptForm {
  /** Path and query, of ASCII characters, on this very server. */
  readonly uri: string;
  /** The body is lost. */
  readonly isCut: boolean;
}

/** Path and query of a request target (RFC 9112, 3.2) as a reference that browsers resolve to this server: `//host` and `/\host` are others. */
export function returnUri(target: string): string {
  const path = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '');
  const escaped = path.replaceAll(
    /[^\x21-\x7e]|[\\"<>^`{|}]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
  const rooted = escaped.startsWith('/') ? escaped : `/${escaped}`;
  return rooted.startsWith('//') ? `/.${rooted}` : rooted;
}

/** The request that is challenged, with its form if that can be kept. */
export function originalOf(request: HttpRequest): Original | Promise<Original> {
  const uri = returnUri(request.requestUri);
  if (request.method === 'GET' || request.method === 'HEAD') return { uri, ...NO_FORM, isCut: false };
  const length = Number(request.header('content-length') ?? NaN);
  const type = request.header('content-type') ?? '';
  if (request.method !== 'POST' || enctypeOf(type) === undefined || length > LONGEST_FORM) return { uri, ...NO_FORM, isCut: length !== 0 };
  return request.readBody(LONGEST_FORM).then(
    (body) => {
      const form = keptForm(type, body);
      return { uri, ...(form ?? NO_FORM), isCut: form === undefined };
    },
    (error: unknown) => {
      if (error instanceof ApiError && error.status === 413) return { uri, ...NO_FORM, isCut: true };
      throw error;
    },
  );
}

/** Digest of the request that a page leads back to; a challenge seals it. */
export function digestOfPage({ uri, enctype, form, files }: Omit<Original, 'isCut'>): string {
  return digestOf(uri, enctype ?? '', form, files);
}

/** The encoding that a page or a Content-Type names. */
export function enctypeOf(type: string): Enctype | undefined {
  if (boundaryOf(type) !== undefined) return MULTIPART;
  const name = TYPE.exec(type)?.[1]?.toLowerCase();
  return ENCTYPES.find((known) => known === name);
}

/** Undefined: it cannot be kept. A page shows fields as text: bytes that are not UTF-8 would change. */
function keptForm(type: string, body: Buffer): KeptForm | undefined {
  const enctype = enctypeOf(type);
  if (enctype === MULTIPART) {
    const parts = parseMultipart(body, boundaryOf(type) ?? '');
    return parts && { enctype, form: queryOf(parts.texts), files: queryOf(parts.files) };
  }
  if (enctype === PLAIN) {
    const fields = plainFields(body);
    return fields && { enctype, form: queryOf(fields), files: '' };
  }
  const form = body.toString('latin1');
  return /^[\x21-\x7e]*$/.test(form) && isEncodedText(form) ? { enctype, form, files: '' } : undefined;
}

/** Lines with a name and a value (HTML, 4.10.21.8). Undefined: a value has several lines, so that fields cannot be distinguished. */
function plainFields(body: Buffer): [name: string, value: string][] | undefined {
  const lines = isUtf8(body) ? body.toString().split('\r\n') : [''];
  if (lines.pop() !== '') return undefined;
  const fields = lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)] as [string, string]);
  return lines.every((line) => line.includes('=')) && lines.length > 0 ? fields : undefined;
}

const queryOf = (fields: [name: string, value: string][]): string => new URLSearchParams(fields).toString();

function isEncodedText(body: string): boolean {
  try {
    decodeURIComponent(body);
    return true;
  } catch {
    return false;
  }
}

/** Names and values of a form. */
export function fieldsOf(form: string): [name: string, value: string][] {
  return [...new URLSearchParams(form)];
}
