import type { FieldError } from './schema.js';

/**
 * Parses the parameters of a query (a string of bytes). A parameter given twice or not in percent-encoded UTF-8 is an error: it could be
 * read otherwise than it was meant.
 * @param lists parameters that may be given several times, and have a list of values
 */
export function parseQuery(query: string, errors: FieldError[], lists: ReadonlySet<string>): Map<string, string | string[]> {
  const parameters = new Map<string, string | string[]>();
  for (const part of query.split('&').filter((text) => text !== '')) {
    const equals = part.indexOf('=');
    const [rawName, rawValue] = equals < 0 ? [part, ''] : [part.slice(0, equals), part.slice(equals + 1)];
    const [name, value] = [decoded(rawName), decoded(rawValue)];
    const pointer = `?${name ?? rawName}`;
    if (name === undefined || value === undefined) errors.push({ pointer, message: 'must be percent-encoded UTF-8' });
    else if (lists.has(name)) parameters.set(name, [parameters.get(name) ?? [], value].flat());
    else if (parameters.has(name)) errors.push({ pointer, message: 'must be given once' });
    else parameters.set(name, value);
  }
  return parameters;
}

/** Undefined for anything but UTF-8. Bytes beyond ASCII may be unencoded. */
function decoded(text: string): string | undefined {
  const encoded = text.replaceAll('+', ' ').replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`);
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}
