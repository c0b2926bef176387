/**
 * Texts on their way into a message: into a field line, a request line. They come from variables and from modules, and must not say where
 * the line ends. Like all texts of requests they are strings of bytes (latin1): other characters would be cut to a byte when they are sent.
 */
import { inspect } from 'node:util';

/** tchar (RFC 9110, 5.6.2): what field names and methods are made of. */
const TOKEN = /^[!#$%&'*+.^`|~\w-]+$/;
const NO_BYTE = /[^\0-\xff]/;
/** Characters that would end the line, and NUL. */
const ENDS_LINE = /[^\x01-\x09\x0b\x0c\x0e-\xff]/;
const EVERY_END = new RegExp(ENDS_LINE, 'g');
/** Characters that would end the target as well. */
const ENDS_TARGET = /[^\x21-\x7e\x80-\xff]/;
const EVERY_TARGET_END = new RegExp(ENDS_TARGET, 'g');

export function isToken(text: string): boolean {
  return TOKEN.test(text);
}

/** Gives the text back. @throws TypeError if it is not made of bytes */
export function byteText(text: string): string {
  if (!NO_BYTE.test(text)) return text;
  throw new TypeError(
    `${inspect(text)} has characters that are not bytes: make it UTF-8 with Buffer.from(text).toString('latin1'), or encode it with encodeURIComponent`,
  );
}

/**
 * `Name: value` with its CRLF. Line ends and NUL in the value become spaces (RFC 9110, 5.5).
 * @throws TypeError for a name that is not a token, or a value that is not made of bytes
 */
export function fieldLine(name: string, value: string): string {
  if (typeof value !== 'string') throw new TypeError(`the value of a header field must be a string, not ${inspect(value, { depth: 0 })}`);
  if (!isToken(name)) throw new TypeError(`${inspect(name)} is not a valid header name`);
  return `${name}: ${ENDS_LINE.test(value) ? byteText(value).replace(EVERY_END, ' ') : value}\r\n`;
}

/** A text for a request line or a Location: controls and spaces are percent-encoded. @throws TypeError if it is not made of bytes */
export function targetText(text: string): string {
  return ENDS_TARGET.test(text) ? byteText(text).replace(EVERY_TARGET_END, percentEncoded) : text;
}

function percentEncoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}
