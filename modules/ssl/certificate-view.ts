import { certificatesIn, keyKindOf, type ServedCertificate } from '../../core/contract/certificates.js';
import type { VirtualServerView } from '../../core/contract/virtual-servers.js';

const DAY = 86_400_000;

/** A certificate of a list. It has nothing of the key but its kind. */
export interface ShownCertificate {
  /** `rsa`, `ecc`, or the name of another kind. */
  readonly cert_type: string;
  /** `api` or `file`. */
  readonly source: string;
  readonly subject: string;
  readonly issuer: string;
  /** Names and addresses it is for. */
  readonly names: readonly string[];
  readonly serial: string;
  /** SHA-256. */
  readonly fingerprint: string;
  readonly key_bits?: number;
  readonly not_before: string;
  readonly not_after: string;
  readonly days_left: number;
  readonly expired: boolean;
  /** Certificates of authorities after it. */
  readonly chain_length: number;
}

/** A server of a list. */
export interface ShownServerCertificates {
  readonly listens: readonly string[];
  readonly serverNames: readonly string[];
  readonly certificates: readonly ShownCertificate[];
}

/** View of the certificates of one list; thousands of servers may have the same. */
export class CertificateViews {
  readonly #shown = new Map<Buffer, ShownCertificate | undefined>();

  /** @param now epoch milliseconds */
  constructor(private readonly now: number) {}

  server({ addresses, names }: VirtualServerView, certificates: readonly ServedCertificate[]): ShownServerCertificates {
    return { listens: addresses, serverNames: names, certificates: certificates.flatMap((one) => this.#certificate(one) ?? []) };
  }

  #certificate(certificate: ServedCertificate): ShownCertificate | undefined {
    const { chain, isDynamic } = certificate;
    if (!this.#shown.has(chain)) this.#shown.set(chain, shownCertificate(certificate, this.now));
    const shown = this.#shown.get(chain);
    return shown && { ...shown, source: isDynamic ? 'api' : 'file' };
  }
}

function shownCertificate({ chain, isDynamic }: ServedCertificate, now: number): ShownCertificate | undefined {
  const [first, ...others] = certificatesIn(chain.toString('latin1'));
  if (first === undefined) return undefined;
  const { publicKey, validFromDate, validToDate } = first;
  const bits = publicKey.asymmetricKeyDetails?.modulusLength;
  return {
    cert_type: keyKindOf(first) ?? publicKey.asymmetricKeyType ?? 'unknown',
    source: isDynamic ? 'api' : 'file',
    subject: oneLine(first.subject),
    issuer: oneLine(first.issuer),
    names: alternativeNames(first.subjectAltName),
    serial: first.serialNumber,
    fingerprint: first.fingerprint256,
    ...(bits !== undefined && { key_bits: bits }),
    not_before: validFromDate.toISOString(),
    not_after: validToDate.toISOString(),
    days_left: Math.floor((validToDate.getTime() - now) / DAY),
    expired: validToDate.getTime() <= now,
    chain_length: others.length + 1,
  };
}

/** Node writes a part of a name a line. */
const oneLine = (name: string | undefined): string => (name ?? '').split('\n').join(', ');

/** `DNS:a.org, IP Address:192.0.2.1` */
function alternativeNames(text: string | undefined): string[] {
  return (text ?? '').split(', ').flatMap((entry) => /^(?:DNS|IP Address):(.*)$/.exec(entry)?.[1] ?? []);
}
