import type { PeerCertificate } from 'node:tls';

/** Certificates between that of the other side and the authority that is trusted. */
export function depthOf(certificate: PeerCertificate): number {
  let depth = 0;
  for (let issuer = issuerOf(certificate); issuer !== undefined; issuer = issuerOf(issuer)) depth++;
  return Math.max(depth - 1, 0);
}

/** Undefined: it is self-signed, or its issuer is unknown. */
function issuerOf(certificate: PeerCertificate): PeerCertificate | undefined {
  const { issuerCertificate } = certificate as { issuerCertificate?: PeerCertificate };
  return issuerCertificate?.fingerprint256 === certificate.fingerprint256 ? undefined : issuerCertificate;
}
