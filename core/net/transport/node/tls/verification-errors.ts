/** Names that Node.js has for OpenSSL's errors of verification: the first one is number 2 (openssl/x509_vfy.h). */
const NAMES: readonly string[] = [
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_CRL',
  'UNABLE_TO_DECRYPT_CERT_SIGNATURE',
  'UNABLE_TO_DECRYPT_CRL_SIGNATURE',
  'UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY',
  'CERT_SIGNATURE_FAILURE',
  'CRL_SIGNATURE_FAILURE',
  'CERT_NOT_YET_VALID',
  'CERT_HAS_EXPIRED',
  'CRL_NOT_YET_VALID',
  'CRL_HAS_EXPIRED',
  'ERROR_IN_CERT_NOT_BEFORE_FIELD',
  'ERROR_IN_CERT_NOT_AFTER_FIELD',
  'ERROR_IN_CRL_LAST_UPDATE_FIELD',
  'ERROR_IN_CRL_NEXT_UPDATE_FIELD',
  'OUT_OF_MEM',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_CHAIN_TOO_LONG',
  'CERT_REVOKED',
  'INVALID_CA',
  'PATH_LENGTH_EXCEEDED',
  'INVALID_PURPOSE',
  'CERT_UNTRUSTED',
  'CERT_REJECTED',
];

/** OpenSSL's number of an error (`X509_V_ERR_…`) by the name that Node.js has for it; `X509_V_ERR_UNSPECIFIED`, 1: it is not known. */
export function verificationNumber(name: string): number {
  return NAMES.indexOf(name) + 2;
}

/** An error of Node.js about a certificate, as nginx writes it: `18:self-signed certificate`. */
export function verificationText(name: string, message: string): string {
  // Node.js adds advice for its own users to what OpenSSL says.
  const [text = ''] = message.split(';', 1);
  const number = verificationNumber(name);
  return number < 2 ? text : `${number}:${text}`;
}
