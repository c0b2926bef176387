import type { Handle, OpenSsl } from './library.js';

/** OpenSSL's numbers of names (openssl/obj_mac.h): hashes, in the order of RFC 5246, 7.4.1.4.1, from SHA-1 on, and types of keys. */
const HASHES: readonly number[] = [64, 675, 672, 673, 674];
const RSA = 6;
const EC = 408;
const RSA_PSS = 912;

/** Signature algorithms without a hash of their own (RFC 8446, 4.2.3): Ed25519, Ed448, ML-DSA. */
const WHOLE: Readonly<Record<number, number>> = { 1087: 0x0807, 1088: 0x0808, 1457: 0x0904, 1458: 0x0905, 1459: 0x0906 };

/**
 * The signature algorithm by which a side of a handshake has signed it, by its number (RFC 8446, 4.2.3); 0: it has not, or the number is not
 * known. Keys that are for RSA-PSS alone have the number that usual keys of RSA have: OpenSSL's functions that Node.js exports tell no more.
 */
export function signatureAlgorithmOf(library: OpenSsl, ssl: Handle, side: 'own' | 'other'): number {
  const [type, hash] = library.signatureOf(ssl, side) ?? [0, 0];
  const at = HASHES.indexOf(hash);
  if (type === RSA_PSS) return at < 2 ? 0 : 0x0802 + at;
  if (at >= 0 && (type === RSA || type === EC)) return ((at + 2) << 8) | (type === RSA ? 1 : 3);
  return WHOLE[type] ?? 0;
}
