/** The certificates that servers show in handshakes, for modules that change or list them. */
import type { X509Certificate } from 'node:crypto';
import type { Directive, NewDirective } from './tree.js';

/** Kinds of keys, of which a server may have one each. */
export const KEY_KINDS = ['rsa', 'ecc'] as const;
export type KeyKind = (typeof KEY_KINDS)[number];

/** The directive of a certificate that came by API. Its arguments are a kind, a chain and a key. */
export const DYNAMIC_CERTIFICATE = 'ssl_dynamic_certificate';

/** @param chain PEM @param key PEM */
export function dynamicCertificate(kind: KeyKind, chain: string, key: string): NewDirective {
  return { name: DYNAMIC_CERTIFICATE, words: [kind, `data:${chain}`, `data:${key}`] };
}

/** Undefined: another one (Ed25519). */
export function keyKindOf({ publicKey }: X509Certificate): KeyKind | undefined {
  const type = publicKey.asymmetricKeyType;
  return type === 'rsa' || type === 'rsa-pss' ? 'rsa' : type === 'ec' ? 'ecc' : undefined;
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs;

/** The certificates of a chain in PEM, that of the server first. @throws Error of OpenSSL */
export function certificatesIn(chain: string): X509Certificate[] {
  const { X509Certificate: Parsed } = process.getBuiltinModule('node:crypto');
  return Array.from(chain.matchAll(CERTIFICATE), ([pem]) => new Parsed(pem));
}

export interface ServedCertificate {
  /** Chain in PEM. */
  readonly chain: Buffer;
  /** It came by API. */
  readonly isDynamic: boolean;
}

/** Certificates of the current servers. Master only. */
export abstract class ServedCertificates {
  static readonly service = 'srv.served_certificates';
  abstract of(server: Directive): readonly ServedCertificate[];
}
