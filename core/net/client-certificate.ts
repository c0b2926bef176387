import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import type { ClientCertificate } from '../module/http.js';

/** What Node has beneath a TLSSocket: the only way to the result without a tls.Server around it (lib/_tls_wrap.js, onServerSocketSecure). */
interface NativeTls {
  verifyError(): (Error & { readonly code?: string }) | null | undefined;
}

/** @returns undefined where the client has shown none @param authority see {@link ClientCertificate.authority} */
export function clientCertificate(socket: TLSSocket, authority: string): ClientCertificate | undefined {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return undefined;
  const { ssl } = socket as unknown as { readonly ssl: NativeTls };
  return new PeerCertificate(certificate, authority, withoutAdvice(ssl.verifyError()?.message));
}

/** Node adds advice for its own users to what OpenSSL says. */
function withoutAdvice(error: string | undefined): string | undefined {
  return error?.split(';', 1)[0];
}

class PeerCertificate implements ClientCertificate {
  constructor(
    private readonly certificate: X509Certificate,
    readonly authority: string,
    readonly error: string | undefined,
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
}

/** Node has a name in lines, the first part first; its escapes are those of RFC 2253. */
function rfc2253(lines: string | undefined): string {
  return (lines ?? '').split('\n').reverse().join(',');
}
