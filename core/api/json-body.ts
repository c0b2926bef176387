import { isUtf8 } from 'node:buffer';
import { ApiError } from '../contract/control.js';
import { firstDuplicate, jsonErrorAt } from './json-position.js';

/** Keys of one object, and values in one another: no route has a use for more, and they would take seconds. */
const MOST_KEYS = 10_000;
const DEEPEST = 100;
/** Bytes of a character in UTF-8. */
const LONGEST_CHARACTER = 4;

/** @throws ApiError 400 `JsonError` with the position of the error; also for an object that has a key twice, or too many keys */
export function parseJson(bytes: Buffer): unknown {
  const text = textOf(bytes);
  const written = keysWritten(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw jsonError(text, jsonErrorAt(text), 'invalid JSON');
  }
  const duplicate = keysIn(value) === written ? undefined : firstDuplicate(text);
  if (duplicate !== undefined) throw jsonError(text, duplicate.position, `duplicate key "${duplicate.key}"`);
  return value;
}

/** @throws ApiError 400 `JsonError` for bytes that are not UTF-8 */
function textOf(bytes: Buffer): string {
  // It leaves out a byte order mark.
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes);
  const before = new TextDecoder().decode(bytes.subarray(0, firstInvalid(bytes)));
  throw jsonError(before, before.length, 'invalid UTF-8');
}

/** Offset of the first character that is not UTF-8. Halves what is left: a body may be long. */
function firstInvalid(bytes: Buffer): number {
  let [valid, invalid] = [0, bytes.length];
  while (invalid - valid > 4 * LONGEST_CHARACTER) {
    const middle = startOfCharacter(bytes, Math.floor((valid + invalid) / 2));
    if (isUtf8(bytes.subarray(valid, middle))) valid = middle;
    else invalid = middle;
  }
  for (let length = lengthOfCharacter(bytes, valid); length > 0; length = lengthOfCharacter(bytes, valid)) valid += length;
  return valid;
}

/** The last offset up to `at` where a character may begin; a run of continuation bytes that no character has may be split. */
function startOfCharacter(bytes: Buffer, at: number): number {
  const isContinuation = (offset: number): boolean => ((bytes[offset] ?? 0) & 0xc0) === 0x80;
  let start = at;
  while (start > at - LONGEST_CHARACTER && isContinuation(start)) start--;
  return start;
}

/** Bytes of the character at an offset; 0: it is not UTF-8, or the end. */
function lengthOfCharacter(bytes: Buffer, at: number): number {
  for (let length = 1; length <= Math.min(LONGEST_CHARACTER, bytes.length - at); length++)
    if (isUtf8(bytes.subarray(at, at + length))) return length;
  return 0;
}

function jsonError(text: string, position: number, what: string): ApiError {
  const before = text.slice(0, position).split('\n');
  const place = { position, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
  return new ApiError(400, 'JsonError', `${what} in line ${place.line}, column ${place.column}`, [place]);
}

/** Keys of all objects in a parsed value. */
function keysIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  // A stack rather than recursion: a text may be nested as deeply as it is long.
  for (const open: object[] = [value]; open.length > 0;) {
    const container = open.pop()!;
    const entries: unknown[] = Object.values(container);
    if (!Array.isArray(container)) count += entries.length;
    for (const entry of entries) if (typeof entry === 'object' && entry !== null) open.push(entry);
  }
  return count;
}

/**
 * Keys of all objects in a text that may be JSON. It looks at strings and brackets alone: a fraction of the time of the scan that knows the
 * structure.
 * @throws ApiError 400 `JsonError` for too many keys or levels, which are not even parsed
 */
function keysWritten(text: string): number {
  /** For each open array and object the keys that it has. */
  const open = [0];
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') {
      const end = endOfString(text, at);
      if (end === 0) break;
      at = end - 1;
    } else if (character === ':') {
      count++;
      const keys = (open.at(-1) ?? 0) + 1;
      if (keys > MOST_KEYS) throw jsonError(text, at, `more than ${MOST_KEYS} keys in an object`);
      open[open.length - 1] = keys;
    } else if (character === '{' || character === '[') {
      if (open.push(0) > DEEPEST + 1) throw jsonError(text, at, `more than ${DEEPEST} levels`);
    } else if ((character === '}' || character === ']') && open.length > 1) open.pop();
  }
  return count;
}

/** Offset after the quote that closes the string at `start`; 0: none does. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end + 1;
}

function isEscaped(text: string, at: number): boolean {
  let before = at - 1;
  while (text[before] === '\\') before--;
  return (at - before) % 2 === 0;
}
