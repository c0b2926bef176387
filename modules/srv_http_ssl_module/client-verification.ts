/** Certificates of clients (ssl_verify_client): what a server asks for, and what becomes of requests without it. */
import { choice } from '../../core/module/args.js';
import type { ExplainHandler } from '../../core/module/explain.js';
import { file, type ConfFile } from '../../core/module/file.js';
import { DECLINED, type ClientConnection, type Handler, type Result, type Scope, type VariableGetter } from '../../core/module/http.js';
import type { TlsSettings } from '../../core/module/manifest.js';
import type { InputFile } from '../../core/module/resource.js';
import type { Log } from '../../core/module/services.js';
import { directive } from '../../core/module/spec.js';

const IN = ['http', 'server'] as const;
const bytesOf = ({ bytes }: InputFile): Buffer => bytes;

export const clientDirectives = {
  ssl_verify_client: directive({
    in: IN,
    args: choice('on', 'off', 'optional', 'optional_no_ca'),
    default: 'off',
    doc: 'Requires a valid certificate from clients; with "optional" a missing one, with "optional_no_ca" any one is accepted, see $ssl_client_verify.',
  }),
  ssl_client_certificate: directive({
    in: IN,
    args: file(authorities),
    doc: 'Certificates in PEM of the authorities that sign certificates of clients; their names are sent to clients.',
  }),
  ssl_crl: directive({ in: IN, args: file(bytesOf), doc: 'Revoked certificates in PEM.' }),
};

/** Undefined: there is none in it, which OpenSSL would take for no authority at all. */
function authorities({ bytes, text }: InputFile): Buffer | undefined {
  return text.includes('-----BEGIN CERTIFICATE-----') || text.includes('-----BEGIN TRUSTED CERTIFICATE-----') ? bytes : undefined;
}

type ClientScope = Scope<typeof clientDirectives>;

/** A request without the certificate it needs: nginx's codes, which clients see as 400. */
const INVALID = 495;
const MISSING = 496;
const MISDIRECTED = 421;

/** The part of the settings that asks clients for certificates. @param digestOf names authorities by their bytes */
export function clientTls(
  scope: ClientScope,
  digestOf: (bytes: readonly Buffer[]) => string,
): Pick<TlsSettings, 'ca' | 'crl' | 'clientAuthority'> {
  const { ssl_verify_client: verify, ssl_client_certificate: certificate, ssl_crl: crl } = scope.conf;
  if (verify === 'off') return {};
  if (certificate === undefined && verify !== 'optional_no_ca')
    scope.fail(
      'no ssl_client_certificate for ssl_verify_client',
      'ssl_verify_client',
      'name the authorities: ssl_client_certificate ca.pem',
    );
  const ca = certificate && read(scope, certificate, 'ssl_client_certificate');
  const revoked = crl && read(scope, crl, 'ssl_crl');
  const clientAuthority = digestOf([ca, revoked].map((bytes) => bytes ?? Buffer.of(0)));
  // Without any, Node takes those that it comes with.
  return { ca: ca ?? [], ...(revoked && { crl: revoked }), clientAuthority };
}

/** Rejects requests on TLS connections whose certificate is not what their server wants. */
export function clientCheck(scope: ClientScope, authority: string | undefined, log: Log): Handler | undefined {
  const { ssl_verify_client: verify } = scope.conf;
  if (verify === 'off') return undefined;
  return (request) => {
    const { connection } = request;
    if (!connection.secure) return DECLINED;
    // The handshake was for another server, which trusts others.
    if (connection.clientAuthority !== authority) {
      log.write('info', 'client attempted to request the server name different from the one that was negotiated', request);
      return MISDIRECTED;
    }
    const { certificate } = connection;
    if (certificate === undefined) {
      if (verify !== 'on') return DECLINED;
      log.write('info', 'client sent no required SSL certificate', request);
      return MISSING;
    }
    if (certificate.error === undefined || verify === 'optional_no_ca') return DECLINED;
    log.write('info', `client SSL certificate verify error: (${certificate.error})`, request);
    return INVALID;
  };
}

/** A client that nobody is has no certificate: it is taken for one that has what is wanted. */
export function explainClientCheck(scope: ClientScope, authority: string | undefined, check: Handler): ExplainHandler {
  const { ssl_verify_client: verify } = scope.conf;
  return (request, notes) => {
    // Nothing of it waits.
    if (!request.connection.secure || request.connection.clientAuthority !== authority) return check(request) as Result;
    if (verify === 'on') notes.assume('ssl_verify_client: the client has a certificate that is valid');
    return DECLINED;
  };
}

export const clientVariables: Readonly<Record<string, VariableGetter>> = {
  ssl_client_verify: ({ connection }) => verdict(connection),
  ssl_client_s_dn: ({ connection }) => connection.certificate && asBytes(connection.certificate.subject),
  ssl_client_i_dn: ({ connection }) => connection.certificate && asBytes(connection.certificate.issuer),
  ssl_client_serial: ({ connection }) => connection.certificate?.serial,
  ssl_client_fingerprint: ({ connection }) => connection.certificate?.fingerprint,
  ssl_client_escaped_cert: ({ connection }) => connection.certificate && encodeURIComponent(connection.certificate.pem),
};

function verdict({ secure, certificate }: ClientConnection): string | undefined {
  if (!secure) return undefined;
  if (certificate === undefined) return 'NONE';
  return certificate.error === undefined ? 'SUCCESS' : `FAILED:${certificate.error}`;
}

const asBytes = (text: string): string => Buffer.from(text).latin1Slice();

function read(scope: ClientScope, certificate: ConfFile<Buffer | undefined>, name: string): Buffer {
  const bytes = certificate.in(scope, name, (reason) => `cannot load certificate "${certificate.path}": ${reason}`);
  return bytes ?? scope.fail(`cannot load certificate "${certificate.path}": no certificate found`, name);
}
