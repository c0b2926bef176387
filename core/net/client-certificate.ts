import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import type { ClientCertificate } from '../contract/client-connection.js';
import { depthOf } from './certificate-depth.js';
import type { PresentedCertificate } from './transport/tls.js';

/** Handle of Node beneath a TLSSocket: the only way to the result without a tls.Server around it (lib/_tls_wrap.js, onServerSocketSecure). */
interface NativeTls {
  verifyError(): (Error & { readonly code?: string }) | null | undefined;
}

/**
 * @param authority see {@link ClientCertificate.authority}
 * @param longest certificates between that of the client and the authority (ssl_verify_depth)
 * @returns undefined where the client has shown none
 */
export function clientCertificate(socket: TLSSocket, authority: string, longest: number): ClientCertificate | undefined {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return undefined;
  const { ssl } = socket as unknown as { readonly ssl: NativeTls };
  const error = withoutAdvice(ssl.verifyError()?.message);
  return new PeerCertificate(certificate, authority, error ?? (isTooLong(socket, longest) ? 'certificate chain too long' : undefined));
}

/** @param authority see {@link ClientCertificate.authority} */
export function presentedCertificate({ bytes, error }: PresentedCertificate, authority: string): ClientCertificate {
  const { X509Certificate } = process.getBuiltinModule('node:crypto');
  return new PeerCertificate(new X509Certificate(bytes), authority, error);
}

/** A session that is resumed has no chain: only those are kept whose chain was short enough, see {@link SessionKeeper}. */
function isTooLong(socket: TLSSocket, longest: number): boolean {
  return !socket.isSessionReused() && depthOf(socket.getPeerCertificate(true)) > longest;
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
