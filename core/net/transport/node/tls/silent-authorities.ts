import type { SecureContext, SecureContextOptions } from 'node:tls';
import { nodeTls } from './node-tls.js';

/** Handle of Node beneath a SecureContext. */
interface NativeContext {
  /** Trusts the certificates of a text in PEM, and names them in requests for certificates of clients. */
  addCACert(pem: Buffer | string): void;
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/**
 * A context that trusts further authorities without naming them to clients (ssl_trusted_certificate). All that Node takes as `ca` is named;
 * what it trusts by default is not: the authorities are that while the context is made. Costs about 10 ms, because Node reads those of
 * before again.
 * @param trusted texts in PEM
 * @throws Error of OpenSSL
 */
export function contextWithSilentAuthorities({ ca, ...options }: SecureContextOptions, trusted: readonly Buffer[]): SecureContext {
  const tls = nodeTls();
  const before = tls.getCACertificates('default');
  tls.setDefaultCACertificates(trusted.flatMap((pem) => pem.latin1Slice().match(CERTIFICATE) ?? []));
  try {
    const secure = tls.createSecureContext(options);
    const native = secure.context as NativeContext;
    for (const named of [ca ?? []].flat()) native.addCACert(named);
    return secure;
  } finally {
    tls.setDefaultCACertificates(before);
  }
}
