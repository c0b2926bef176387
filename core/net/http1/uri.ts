/** The path of a request target, as nginx takes it apart, cleans it and writes it again. Strings hold one byte a character (latin1). */
import { HEX } from './characters.js';

const NUMBER_SIGN = 0x23;
const DOT = 0x2e;
const SLASH = 0x2f;
const QUESTION = 0x3f;

/** A request target taken apart. Reusable: {@link parse} overwrites it. */
export class RequestUri {
  /** Decoded and normalised; see {@link normalizePath}. */
  path = '';
  /** The part after the question mark, as it was sent, without the fragment. */
  args = '';
  /** There is a question mark, even if nothing follows it. */
  hasArgs = false;

  /**
   * Takes `target` apart: path and arguments of the origin form, or what follows the authority in the absolute form, where an empty path
   * is `/` (RFC 9112, 3.2.1). False if the path is invalid: the response is 400.
   */
  parse(target: string, mergeSlashes: boolean): boolean {
    const pathEnd = endOfPath(target);
    const question = target.charCodeAt(pathEnd) === QUESTION;
    const fragment = question ? target.indexOf('#', pathEnd) : -1;
    this.hasArgs = question;
    this.args = question ? target.slice(pathEnd + 1, fragment < 0 ? target.length : fragment) : '';
    const path = normalizePath(pathEnd === 0 ? '/' : target.slice(0, pathEnd), mergeSlashes);
    this.path = path ?? '';
    return path !== undefined;
  }
}

function endOfPath(target: string): number {
  let at = 0;
  for (; at < target.length; at++) {
    const c = target.charCodeAt(at);
    if (c === QUESTION || c === NUMBER_SIGN) break;
  }
  return at;
}

/**
 * The path with percent-encoding decoded, `.` and `..` resolved and, with `mergeSlashes` (nginx: merge_slashes), adjacent slashes made one.
 * Decoding comes first and once: `%2e%2e%2f` climbs like `../`, `%252e` is the text `%2e`. Undefined if an encoding is incomplete, a
 * NUL is encoded, or the path climbs above the root. `path` starts with a slash and has neither arguments nor fragment. A path with
 * nothing to do is returned as it is.
 */
export function normalizePath(path: string, mergeSlashes: boolean): string | undefined {
  const decoded = decode(path);
  return decoded === undefined || !hasSpecialSegment(decoded) ? decoded : resolve(decoded, mergeSlashes);
}

/** True if a segment is empty or starts with a dot. */
function hasSpecialSegment(path: string): boolean {
  let slash = false;
  for (let at = 0; at < path.length; at++) {
    const c = path.charCodeAt(at);
    if (slash && (c === SLASH || c === DOT)) return true;
    slash = c === SLASH;
  }
  return false;
}

function decode(path: string): string | undefined {
  let percent = path.indexOf('%');
  if (percent < 0) return path;
  let decoded = '';
  let copied = 0;
  while (percent >= 0) {
    const byte = encodedByte(path, percent);
    if (byte <= 0) return undefined;
    decoded += path.slice(copied, percent) + String.fromCharCode(byte);
    copied = percent + 3;
    percent = path.indexOf('%', copied);
  }
  return decoded + path.slice(copied);
}

/** The byte of the encoding at `percent`; -1: it is none. */
function encodedByte(path: string, percent: number): number {
  const high = HEX[path.charCodeAt(percent + 1)] ?? 255;
  const low = HEX[path.charCodeAt(percent + 2)] ?? 255;
  return high > 15 || low > 15 ? -1 : high * 16 + low;
}

/** Resolves the segments `.` and `..`, and merges slashes. Undefined if the path climbs above the root. */
function resolve(path: string, mergeSlashes: boolean): string | undefined {
  const segments = path.slice(1).split('/');
  const last = segments.length - 1;
  const kept: string[] = [];
  for (let i = 0; i <= last; i++) {
    const segment = segments[i] as string;
    if (segment === '..' && kept.pop() === undefined) return undefined;
    if (segment === '.' || segment === '..' || (segment === '' && mergeSlashes)) {
      // Only the slash before the last segment is left.
      if (i === last) kept.push('');
    } else kept.push(segment);
  }
  return `/${kept.join('/')}`;
}

/** 1 for the bytes that nginx encodes in a path: controls, space, `"#%<>?\^`{|}`, DEL and everything from 0x80 up. */
const ESCAPED: Uint8Array = new Uint8Array(256).fill(1, 0, 0x21).fill(1, 0x7f);
for (const c of '"#%<>?\\^`{|}') ESCAPED[c.charCodeAt(0)] = 1;

/** Encodes a decoded path for a request line, as nginx does when `proxy_pass` has a URI part. The inverse of decoding, not of normalising. */
export function escapeUri(path: string): string {
  let escaped = '';
  let copied = 0;
  for (let at = 0; at < path.length; at++) {
    const c = path.charCodeAt(at);
    if (ESCAPED[c] !== 1) continue;
    escaped += `${path.slice(copied, at)}%${c < 16 ? '0' : ''}${c.toString(16).toUpperCase()}`;
    copied = at + 1;
  }
  return copied === 0 ? path : escaped + path.slice(copied);
}
