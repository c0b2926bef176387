/** Formats of access logs that are JSON objects: `log_json NAME { key $variable; … }`. */
import { ArgError, type ArgContext } from '../contract/spec.js';
import type { Getter } from '../contract/template.js';
import type { Directive } from '../contract/tree.js';

/** Text and values of a line; each value is JSON. */
type ObjectParts<R> = readonly (string | Getter<R>)[];

/** Scopes that compile such a format. */
interface ObjectScope<R> {
  readonly args: Pick<ArgContext<R>, 'parts'>;
  fail(message: string, place: Directive, hint?: string): never;
}

/** Variables that are numbers. A value of several attempts is text all the same. */
const NUMBERS = new Set(
  (
    'body_bytes_sent bytes_sent bytes_received connection connection_requests connection_time content_length gzip_ratio msec pid ' +
    'proxy_protocol_port remote_port request_length request_port request_time server_port session_time status upstream_bytes_received ' +
    'upstream_bytes_sent upstream_connect_time upstream_first_byte_time upstream_header_time upstream_queue_time upstream_response_length ' +
    'upstream_response_time upstream_session_time upstream_status'
  ).split(' '),
);

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;

/** The keys of one block. @param content makes the content of a JSON string of a value */
export function objectParts<R>(scope: ObjectScope<R>, line: Directive, content: (value: string) => string): ObjectParts<R> {
  const keys = new Set<string>();
  const parts: (string | Getter<R>)[] = [];
  for (const entry of line.block ?? []) {
    const [word, ...more] = entry.args;
    if (word === undefined || more.length > 0) scope.fail('invalid number of parameters', entry, 'an entry is written: status $status;');
    if (keys.has(entry.name)) scope.fail(`duplicate key "${entry.name}"`, entry);
    keys.add(entry.name);
    parts.push(`${keys.size === 1 ? '{' : ','}${JSON.stringify(entry.name)}:`, valueOf(scope, entry, word.text, content));
  }
  if (keys.size === 0) scope.fail(`"${line.name}" has no keys`, line, 'an entry is written: status $status;');
  return [...parts, '}'];
}

/** The keys of a format that comes with srv, with the getter of each. */
export function shippedObject<R>(entries: Readonly<Record<string, Getter<R>>>, content: (value: string) => string): ObjectParts<R> {
  const keys = Object.entries(entries).flatMap(([key, getter], at) => [
    `${at === 0 ? '{' : ','}${JSON.stringify(key)}:`,
    jsonValue(getter, NUMBERS.has(key), content),
  ]);
  return [...keys, '}'];
}

function valueOf<R>(scope: ObjectScope<R>, entry: Directive, text: string, content: (value: string) => string): string | Getter<R> {
  const parts = partsOf(scope, entry, text);
  if (parts.every((part) => typeof part === 'string')) return JSON.stringify(parts.join(''));
  const [first] = parts;
  if (parts.length === 1 && typeof first === 'function') return jsonValue(first, NUMBERS.has(text.replaceAll(/[${}]/g, '')), content);
  return jsonValue((subject) => parts.map((part) => (typeof part === 'string' ? part : (part(subject) ?? ''))).join(''), false, content);
}

function partsOf<R>(scope: ObjectScope<R>, entry: Directive, text: string): ObjectParts<R> {
  try {
    return scope.args.parts(text);
  } catch (error) {
    if (error instanceof ArgError) return scope.fail(error.message, entry, error.hint);
    throw error;
  }
}

/** Without a value it has none either: the line has `null` then. */
function jsonValue<R>(getter: Getter<R>, isNumber: boolean, content: (value: string) => string): Getter<R> {
  return (subject) => {
    const value = getter(subject);
    if (value === undefined || (isNumber && NUMBER.test(value))) return value;
    return `"${content(value)}"`;
  };
}
