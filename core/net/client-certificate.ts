import type { X509Certificate } from 'node:crypto';
import type { ClientCertificate } from '../contract/client-connection.js';
import type { PresentedCertificate } from './transport/tls.js';

/** @param authority see {@link ClientCertificate.authority} */
export function presentedCertificate({ bytes, error, errorNumber }: PresentedCertificate, authority: string): ClientCertificate {
  const { X509Certificate } = process.getBuiltinModule('node:crypto');
  return new PeerCertificate(new X509Certificate(bytes), authority, error, errorNumber);
}

class PeerCertificate implements ClientCertificate {
  constructor(
    private readonly certificate: X509Certificate,
    readonly authority: string,
    readonly error: string | undefined,
    readonly errorNumber: number,
  ) {}

  get subject(): string {
    return rfc2253(this.certificate.subject);
  }
  get issuer(): string {
    return rfc2253(this.certificate.issuer);
  }
  get serial(): string {
    return this.certificate.serialNumber;
  }
  get fingerprint(): string {
    return this.certificate.fingerprint.replaceAll(':', '').toLowerCase();
  }
  get fingerprint256(): string {
    return this.certificate.fingerprint256.replaceAll(':', '').toLowerCase();
  }
  get validFrom(): number {
    return this.certificate.validFromDate.getTime();
  }
  get validTo(): number {
    return this.certificate.validToDate.getTime();
  }
  get pem(): string {
    return this.certificate.toString();
  }
  get subjectParts(): readonly string[] {
    return partsOf(this.certificate.subject);
  }
  get issuerParts(): readonly string[] {
    return partsOf(this.certificate.issuer);
  }
}

/** Node has a name in lines, the first part first; its escapes are those of RFC 2253. */
function partsOf(lines: string | undefined): readonly string[] {
  return (lines ?? '').split('\n');
}

const rfc2253 = (lines: string | undefined): string => partsOf(lines).toReversed().join(',');
