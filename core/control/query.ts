import type { Fault } from './schema.js';

/**
 * The parameters of a query (a string of bytes), decoded. What is given twice, or is no percent-encoded UTF-8, is a fault: it would be read
 * otherwise than it was meant.
 */
export function parseQuery(query: string, faults: Fault[]): Map<string, string> {
  const parameters = new Map<string, string>();
  for (const part of query.split('&').filter((text) => text !== '')) {
    const equals = part.indexOf('=');
    const [rawName, rawValue] = equals < 0 ? [part, ''] : [part.slice(0, equals), part.slice(equals + 1)];
    const [name, value] = [decoded(rawName), decoded(rawValue)];
    const pointer = `?${name ?? rawName}`;
    if (name === undefined || value === undefined) faults.push({ pointer, message: 'must be percent-encoded UTF-8' });
    else if (parameters.has(name)) faults.push({ pointer, message: 'may be given once' });
    else parameters.set(name, value);
  }
  return parameters;
}

/** Undefined for what is no text. Bytes beyond ASCII may stand for themselves. */
function decoded(text: string): string | undefined {
  const encoded = text.replaceAll('+', ' ').replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`);
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}
