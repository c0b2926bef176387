/** Certificates of clients (ssl_verify_client): what a server asks for, and what becomes of requests without it. */
import { choice, number } from '../../contract/args.js';
import { file } from '../../contract/file.js';
import type { ClientCertificate, ClientConnection } from '../../contract/client-connection.js';
import type { TlsSettings } from '../../contract/manifest.js';
import type { BlockScope } from '../../contract/scope.js';
import { directive, type Conf, type ContextName, type Directives } from '../../contract/spec.js';
import type { Getter } from '../../contract/template.js';
import { authoritiesIn, readChecked, revocationListsIn } from './pem-files.js';
import { asciiName, legacyName } from './distinguished-name.js';

export function clientDirectives(contexts: readonly ContextName[]) {
  return {
    ssl_verify_client: directive({
      in: contexts,
      args: choice('on', 'off', 'optional', 'optional_no_ca'),
      default: 'off',
      doc: 'Requires a valid certificate from clients; with "optional" a missing one is accepted, with "optional_no_ca" also one whose issuer is not known, but none that is expired or revoked; see $ssl_client_verify.',
    }),
    ssl_verify_depth: directive({
      in: contexts,
      args: number(),
      default: '1',
      doc: 'Certificates that may be between that of a client and the authority that is trusted.',
    }),
    ssl_client_certificate: directive({
      in: contexts,
      args: file(authoritiesIn),
      doc: 'Certificates in PEM of the authorities that sign certificates of clients; their names are sent to clients.',
    }),
    ssl_trusted_certificate: directive({
      in: contexts,
      args: file(authoritiesIn),
      doc: 'Further authorities that certificates of clients are verified with; their names are not sent to clients.',
    }),
    ssl_crl: directive({
      in: contexts,
      args: file(revocationListsIn),
      doc: 'Lists of revoked certificates in PEM, one for each authority.',
    }),
  };
}

type ClientScope = Pick<BlockScope<Directives, string, never>, 'fail' | 'file'> & {
  readonly conf: Conf<ReturnType<typeof clientDirectives>>;
};

/**
 * `X509_V_ERR_…` of certificates whose issuer is not known or not trusted: DEPTH_ZERO_SELF_SIGNED_CERT, SELF_SIGNED_CERT_IN_CHAIN,
 * UNABLE_TO_GET_ISSUER_CERT_LOCALLY, UNABLE_TO_VERIFY_LEAF_SIGNATURE, CERT_UNTRUSTED (nginx: ngx_ssl_verify_error_optional).
 */
const UNKNOWN_ISSUER: ReadonlySet<number> = new Set([18, 19, 20, 21, 27]);

/** True if a server with this `ssl_verify_client` goes on with the certificate: it is valid, or only its issuer is in doubt, and no one asks for that. */
export function isAccepted(certificate: Pick<ClientCertificate, 'errorNumber'>, verify: string): boolean {
  const { errorNumber } = certificate;
  return errorNumber === 0 || (verify === 'optional_no_ca' && UNKNOWN_ISSUER.has(errorNumber));
}

/** A client: a request or a session. */
interface OfClient {
  readonly connection: Pick<ClientConnection, 'secure' | 'certificate'>;
}

/** The part of the settings that asks clients for certificates. @param digestOf names authorities by their bytes */
export function clientTls(
  scope: ClientScope,
  digestOf: (bytes: readonly Buffer[]) => string,
): Pick<TlsSettings, 'ca' | 'trusted' | 'crl' | 'clientAuthority' | 'verifyDepth'> {
  const { ssl_client_certificate: certificate, ssl_trusted_certificate: trusted, ssl_crl: crl } = scope.conf;
  const { ssl_verify_client: verify, ssl_verify_depth: verifyDepth } = scope.conf;
  // As in nginx, files are loaded also where no client is asked for a certificate.
  const ca = certificate ? [readChecked(scope, certificate, 'certificate', 'ssl_client_certificate')] : [];
  const further = trusted ? [readChecked(scope, trusted, 'certificate', 'ssl_trusted_certificate')] : [];
  const revoked = crl && readChecked(scope, crl, 'CRL', 'ssl_crl');
  if (verify === 'off') return {};
  if (certificate === undefined && trusted === undefined && verify !== 'optional_no_ca')
    scope.fail(
      'no ssl_client_certificate for ssl_verify_client',
      'ssl_verify_client',
      'name the authorities: ssl_client_certificate ca.pem',
    );
  // A chain that one server accepts is not verified for another one that requires a shorter chain.
  const clientAuthority = digestOf([...ca, ...further, revoked ?? Buffer.of(0), Buffer.from(String(verifyDepth))]);
  // Without any, Node uses the ones that it comes with.
  return { ca, trusted: further, ...(revoked && { crl: revoked }), clientAuthority, verifyDepth };
}

export const clientVariables: Readonly<Record<string, Getter<OfClient>>> = {
  ssl_client_verify: ({ connection }) => verdict(connection),
  ssl_client_s_dn: ({ connection }) => connection.certificate && asciiName(connection.certificate.subject),
  ssl_client_i_dn: ({ connection }) => connection.certificate && asciiName(connection.certificate.issuer),
  ssl_client_s_dn_legacy: ({ connection }) => connection.certificate && legacyName(connection.certificate.subjectParts),
  ssl_client_i_dn_legacy: ({ connection }) => connection.certificate && legacyName(connection.certificate.issuerParts),
  ssl_client_serial: ({ connection }) => connection.certificate?.serial,
  ssl_client_fingerprint: ({ connection }) => connection.certificate?.fingerprint,
  ssl_client_v_start: ({ connection }) => connection.certificate && dateText(connection.certificate.validFrom),
  ssl_client_v_end: ({ connection }) => connection.certificate && dateText(connection.certificate.validTo),
  ssl_client_v_remain: ({ connection }) => connection.certificate && daysUntil(connection.certificate.validTo),
  ssl_client_raw_cert: ({ connection }) => connection.certificate?.pem,
  ssl_client_cert: ({ connection }) => connection.certificate && asFieldLines(connection.certificate.pem),
  ssl_client_escaped_cert: ({ connection }) => connection.certificate && encodeURIComponent(connection.certificate.pem),
};

function verdict({ secure, certificate }: OfClient['connection']): string | undefined {
  if (!secure) return undefined;
  if (certificate === undefined) return 'NONE';
  return certificate.error === undefined ? 'SUCCESS' : `FAILED:${certificate.error}`;
}

/** With tabs, so that it can be the value of a header field that is continued on further lines. */
function asFieldLines(pem: string): string {
  return pem.trimEnd().replaceAll('\n', '\n\t');
}

const DAY = 86_400_000;

/** As OpenSSL prints it: `Nov  2 16:00:00 2026 GMT`. @param time epoch milliseconds */
function dateText(time: number): string {
  const [, day = '', month, year, clock] = new Date(time).toUTCString().split(' ');
  return `${month} ${String(Number(day)).padStart(2)} ${clock} ${year} GMT`;
}

function daysUntil(time: number): string {
  return String(Math.max(Math.floor((time - Date.now()) / DAY), 0));
}
