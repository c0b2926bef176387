import { inspect } from 'node:util';
import { bodyBytes } from './body-bytes.js';
import { isStatus } from '../../run/handler-result.js';

/** The types of a module written in JavaScript are not checked. */
export function bytesOf(body: unknown): Buffer {
  const bytes = bodyBytes(body);
  if (bytes !== undefined) return bytes;
  throw new TypeError(`the body of a response must be a string or a Buffer, not ${inspect(body, { depth: 0 })}`);
}

/** Modules in JavaScript may give anything. */
export function assertLength(length: unknown): void {
  if (Number.isSafeInteger(length) && Number(length) >= 0) return;
  throw new TypeError(`the length of a body must be a number of bytes, not ${inspect(length, { depth: 0 })}`);
}

export function assertStatus(status: unknown): void {
  // Below 100: `return 7;`, which nginx sends as 007. An interim status is not a response.
  const isShort = Number.isInteger(status) && Number(status) > 0 && Number(status) < 100;
  if (!isShort && !isStatus(status))
    throw new TypeError(`the status of a response must be a number from 200 to 999, not ${inspect(status, { depth: 0 })}`);
}
