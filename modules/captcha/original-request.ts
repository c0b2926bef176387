import { ApiError } from '../../core/contract/control.js';
import type { HttpRequest } from '../../core/contract/http.js';

/** The most bytes of a form that are kept in the page. */
const LONGEST_FORM = 65_536;
const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(?:;\s*charset="?utf-8"?\s*)?$/i;

/** The request that a page leads back to. */
export interface Original {
  /** Path and query, of ASCII characters, on this very server. */
  readonly uri: string;
  /** Fields of a form, as in its body; empty: none. */
  readonly form: string;
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
  if (request.method === 'GET' || request.method === 'HEAD') return { uri, form: '', isCut: false };
  const length = Number(request.header('content-length') ?? NaN);
  if (request.method !== 'POST' || !FORM_TYPE.test(request.header('content-type') ?? '') || length > LONGEST_FORM)
    return { uri, form: '', isCut: length !== 0 };
  return request.readBody(LONGEST_FORM).then(
    (body) => withForm(uri, body.toString('latin1')),
    (error: unknown) => {
      if (error instanceof ApiError && error.status === 413) return { uri, form: '', isCut: true };
      throw error;
    },
  );
}

/** A page shows fields as text: other bytes than those of UTF-8 would change. */
function withForm(uri: string, body: string): Original {
  const isText = /^[\x21-\x7e]*$/.test(body) && isEncodedText(body);
  return { uri, form: isText ? body : '', isCut: !isText };
}

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
