import { ApiError } from '../../contract/control.js';

/** A call that its client may not make, with the header fields that tell it why. */
export class AccessError extends ApiError {
  constructor(
    status: number,
    code: string,
    text: string,
    details: readonly unknown[],
    readonly headers: Readonly<Record<string, string>>,
  ) {
    super(status, code, text, details);
  }
}

/** 401 with the challenge of RFC 6750, 3. @param isInvalid a token was sent, but none that counts */
export function unauthorized(text: string, isInvalid: boolean): AccessError {
  const challenge = `Bearer realm="srv"${isInvalid ? ', error="invalid_token"' : ''}`;
  return new AccessError(401, 'Unauthorized', text, [], { 'WWW-Authenticate': challenge });
}

/** @param ms milliseconds until the next attempt */
export function tooManyAttempts(ms: number): AccessError {
  const seconds = Math.max(1, Math.ceil(ms / 1000));
  const text = `too many failed attempts to authenticate, try again in ${seconds} s`;
  return new AccessError(429, 'TooManyAttempts', text, [], { 'Retry-After': String(seconds) });
}

/** @param needed scopes that would do */
export function insufficientScope(actor: string, needed: string, granted: string): AccessError {
  const challenge = `Bearer realm="srv", error="insufficient_scope", scope="${needed.replaceAll(/[^\x20-\x7e]|["\\]/g, '?')}"`;
  const text = `"${actor}" lacks the scope "${needed}"`;
  return new AccessError(403, 'InsufficientScope', text, [{ needed, granted }], { 'WWW-Authenticate': challenge });
}
