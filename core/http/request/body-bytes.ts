/** A body, or a piece of it, as modules give it. Undefined: it is neither text, which is sent as UTF-8, nor bytes. */
export function bodyBytes(body: unknown): Buffer | undefined {
  if (Buffer.isBuffer(body)) return body;
  if (typeof body === 'string') return Buffer.from(body);
  if (body instanceof Uint8Array) return Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return undefined;
}
