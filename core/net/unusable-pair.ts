import type { TlsSettings } from '../contract/manifest.js';
import type { LockedKey, PemText } from '../contract/tls-context.js';

/** A certificate of a server, or its key, that OpenSSL rejects. */
export interface UnusablePair {
  /** Place of the certificate among those of the server. */
  readonly at: number;
  readonly part: 'certificate' | 'certificate key';
  readonly reason: string;
}

/** Finds what an error of OpenSSL about the settings of a server means. Undefined: neither a certificate nor a key. */
export function unusablePair({ cert, key }: TlsSettings): UnusablePair | undefined {
  const { X509Certificate, createPrivateKey } = process.getBuiltinModule('node:crypto');
  const keys = listOf<PemText | LockedKey>(key);
  for (const [at, chain] of listOf<PemText>(cert).entries()) {
    const pem = keys[at];
    if (pem === undefined) return undefined;
    const certificate = attempt(() => new X509Certificate(chain));
    if (typeof certificate === 'string') return { at, part: 'certificate', reason: certificate };
    const opened = attempt(() => createPrivateKey(isText(pem) ? pem : { key: pem.pem, passphrase: pem.passphrase }));
    if (typeof opened === 'string') return { at, part: 'certificate key', reason: opened };
    if (!certificate.checkPrivateKey(opened)) return { at, part: 'certificate key', reason: 'key values mismatch' };
  }
  return undefined;
}

function isText(one: PemText | LockedKey): one is PemText {
  return typeof one === 'string' || Buffer.isBuffer(one);
}

function listOf<T>(one: PemText | readonly T[] | undefined): readonly (PemText | T)[] {
  if (one === undefined) return [];
  return typeof one === 'string' || Buffer.isBuffer(one) ? [one] : one;
}

function attempt<T>(make: () => T): T | string {
  try {
    return make();
  } catch (error) {
    return (error as Error).message;
  }
}
