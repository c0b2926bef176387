/** Changes of response fields by filters that change the body. */
import type { ResponseHeaders } from './http.js';

/** The media type of a Content-Type field, in lower case and without parameters. */
export function mediaType(field: string): string {
  const end = field.indexOf(';');
  return (end < 0 ? field : field.slice(0, end)).trim().toLowerCase();
}

/** True if a response is of one of the types, `*` being any (`gzip_types` and directives like it). */
export function isOfType({ response }: { readonly response: ResponseHeaders }, types: ReadonlySet<string>): boolean {
  const type = response.get('Content-Type');
  return types.has('*') || (type !== undefined && types.has(mediaType(type)));
}

/** The types of such a directive: text/html is always among them. */
export function typesOf(lines: readonly { readonly types: readonly string[] }[]): ReadonlySet<string> {
  return new Set(['text/html', ...lines.flatMap((line) => line.types.map((type) => type.toLowerCase()))]);
}

/** The body is no longer the same byte for byte: its ETag becomes a weak one, and one that is malformed goes (RFC 9110, 8.8.3). */
export function weakenTag(response: ResponseHeaders): void {
  const tag = response.get('ETag');
  if (tag === undefined || tag.startsWith('W/')) return;
  if (tag.startsWith('"')) response.set('ETag', `W/${tag}`);
  else response.remove('ETag');
}
