/** Host and port as they are in a Host field or in the authority of a request target. */
import { isIPv6 } from 'node:net';
import { Char, REG_NAME } from './characters.js';

const DOT = 0x2e;
const BRACKET_OPEN = 0x5b;
const BRACKET_CLOSE = 0x5d;
const MAX_PORT = 65_535;
const MAX_PORT_DIGITS = 5;
/** More is not an address. */
const MAX_LITERAL = 255;
/** IPvFuture (RFC 3986, 3.2.2). */
const FUTURE_LITERAL = /^v[0-9a-f]+\.[-._~!$&'()*+,;=:0-9a-z]+$/i;

/**
 * Offset after the host name in `bytes[start, end)`, which is a host name or an address literal in brackets, and optionally a colon and
 * a port. -1 if it is none of that: an empty name, a dot alone or two dots in a row (nginx), user information, a port that is not a number
 * up to 65535. The port may be empty (RFC 3986, 3.2.3).
 */
export function hostNameEnd(bytes: Uint8Array, start: number, end: number): number {
  const at = bytes[start] === BRACKET_OPEN ? literalEnd(bytes, start + 1, end) : nameEnd(bytes, start, end);
  if (at < 0 || at === start) return -1;
  if (at === end) return at;
  return (bytes[at] as number) === Char.COLON && isPort(bytes, at + 1, end) ? at : -1;
}

function nameEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  let dot = false;
  for (; at < end; at++) {
    const c = bytes[at] as number;
    if (REG_NAME[c] !== 1) break;
    if (c === DOT && dot) return -1;
    dot = c === DOT;
  }
  return dot && at === start + 1 ? -1 : at;
}

function literalEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && bytes[at] !== BRACKET_CLOSE) at++;
  if (at === end || at - start > MAX_LITERAL) return -1;
  const literal = String.fromCharCode(...bytes.subarray(start, at));
  // isIPv6 takes zones (`fe80::1%eth0`), which mean something on one machine only.
  return (isIPv6(literal) && !literal.includes('%')) || FUTURE_LITERAL.test(literal) ? at + 1 : -1;
}

function isPort(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start > MAX_PORT_DIGITS) return false;
  let port = 0;
  for (let at = start; at < end; at++) {
    const c = bytes[at] as number;
    if (c < 0x30 || c > 0x39) return false;
    port = port * 10 + c - 0x30;
  }
  return port <= MAX_PORT;
}

/** The name as servers are looked up by: lower case, without the dot that may end it. */
export function normalHostName(text: string, start: number, end: number): string {
  const last = end - start > 1 && text.charCodeAt(end - 1) === DOT ? end - 1 : end;
  for (let at = start; at < last; at++) {
    const c = text.charCodeAt(at);
    // Only A to Z: toLowerCase would also change letters from 0x80 up.
    if (c >= 0x41 && c <= 0x5a) return asciiLower(text.slice(start, last));
  }
  return text.slice(start, last);
}

function asciiLower(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
