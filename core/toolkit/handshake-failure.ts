/** Kinds of TLS handshakes with clients that failed. `certificate`: the client has rejected the certificate of the server. */
export const HANDSHAKE_FAILURES = ['closed', 'timed_out', 'certificate', 'protocol', 'cipher', 'rejected', 'other'] as const;
export type HandshakeFailure = (typeof HANDSHAKE_FAILURES)[number];

/** Words of the error log, the first that apply. */
const WORDS: readonly (readonly [RegExp, HandshakeFailure])[] = [
  [/timed out/, 'timed_out'],
  [/version|unsupported protocol|wrong ssl/i, 'protocol'],
  [/cipher/i, 'cipher'],
  [/certificate|unknown ca/i, 'certificate'],
  [/rejected/, 'rejected'],
  [/closed connection|reset/i, 'closed'],
];

/** @param reason in the words of the error log */
export function handshakeFailure(reason: string): HandshakeFailure {
  return WORDS.find(([words]) => words.test(reason))?.[1] ?? 'other';
}
