/** A certificate as a TLSSocket of Node.js gives it. */
interface IssuedCertificate {
  readonly fingerprint256: string;
}

/** Certificates between that of the other side and the authority that is trusted. */
export function depthOf(certificate: IssuedCertificate): number {
  let depth = 0;
  for (let issuer = issuerOf(certificate); issuer !== undefined; issuer = issuerOf(issuer)) depth++;
  return Math.max(depth - 1, 0);
}

/** Undefined: it is self-signed, or its issuer is unknown. */
function issuerOf(certificate: IssuedCertificate): IssuedCertificate | undefined {
  const { issuerCertificate } = certificate as { issuerCertificate?: IssuedCertificate };
  return issuerCertificate?.fingerprint256 === certificate.fingerprint256 ? undefined : issuerCertificate;
}
