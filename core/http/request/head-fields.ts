/** Fields of a request's head as handlers and variables ask for them. */
import { PLAIN_NAME } from '../../net/http1/characters.js';
import { fieldName, fieldValue, findField } from '../../net/http1/fields.js';
import type { HeadLimits } from '../../net/http1/message-head.js';
import type { RequestHead } from '../../net/http1/request-head.js';

/** Value of a field, several lines of it joined; undefined: it was not sent. See {@link HttpRequest.header}. */
export function headField(head: RequestHead, lowerName: string): string | undefined {
  const { text, fields, count } = head;
  // RFC 9112, 3.2.2: a host in the request target counts, and the field is ignored.
  if (lowerName === 'host' && head.hostStart >= 0) return text.slice(head.hostStart, head.hostEnd);
  const first = findField(text, fields, count, lowerName);
  if (first < 0) return undefined;
  let value = fieldValue(text, fields, first);
  const separator = lowerName === 'cookie' ? '; ' : ', ';
  for (let at = first; (at = findField(text, fields, count, lowerName, at + 1)) >= 0;) value += separator + fieldValue(text, fields, at);
  return value;
}

/**
 * As {@link headField}, for `$http_*`: where the server accepts names with underscores, one of a field stands for a hyphen, too (as in nginx).
 */
export function headFieldVariable(head: RequestHead, { names }: HeadLimits, lowerName: string): string | undefined {
  if (names === undefined || names === PLAIN_NAME || !lowerName.includes('-')) return headField(head, lowerName);
  const { text, fields, count } = head;
  const values: string[] = [];
  for (let at = 0; at < count; at++)
    if (fieldName(text, fields, at).toLowerCase().replaceAll('_', '-') === lowerName) values.push(fieldValue(text, fields, at));
  return values.length > 0 ? values.join(', ') : undefined;
}

/** All fields, in the order they were sent. */
export function headFields({ text, fields, count }: RequestHead): [name: string, value: string][] {
  return Array.from({ length: count }, (_, at) => [fieldName(text, fields, at), fieldValue(text, fields, at)]);
}

/** Names and values of field lines. */
export function fieldPairs(lines: string): [name: string, value: string][] {
  return lines
    .split('\r\n')
    .filter((line) => line !== '')
    .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]);
}
