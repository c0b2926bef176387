import type { CertificateChooser, ChosenCertificates, TlsSettings } from '../contract/manifest.js';
import type { TlsContextSettings } from '../contract/tls-context.js';
import { alpnList, type HandshakeRejection, type TlsIdentity, type VariableContexts } from './tls-identity.js';
import { TlsContext } from './transport/tls-context.js';

/** Certificates and ciphers of a server, checked. */
export interface ServerTls {
  readonly settings: TlsSettings;
  readonly identity: TlsIdentity;
  /** The same for servers with `http2 on`. */
  readonly http2Identity: TlsIdentity;
}

/** Protocols of a server, the preferred one first. */
const HTTP1 = alpnList(['http/1.1', 'http/1.0']);
const HTTP2 = alpnList(['h2', 'http/1.1', 'http/1.0']);

/** RFC 6066, 3: unrecognized_name. */
const REJECTED: HandshakeRejection = { level: 'info', reason: 'handshake rejected', alert: 112 };
/** RFC 8446, 6.2: handshake_failure. */
const AWAITING: HandshakeRejection = {
  level: 'error',
  reason:
    'no "ssl_certificate" is defined in server listening on SSL port: "ssl_await_certificate" waits for one from the API (PUT /v1/ssl)',
  alert: 40,
};

/**
 * @param checks false: another thread has found that certificates, keys and ciphers can be used; contexts are made with the first handshake
 * @throws Error of OpenSSL for what cannot be used
 */
export function serverTls(settings: TlsSettings, checks: boolean): ServerTls {
  const { alpn, rejectsHandshake = false, awaitsCertificate = false, handshakeTimeout: _, certificates, ...options } = settings;
  const create = (more: TlsContextSettings): TlsContext => new TlsContext({ ...options, ...more });
  const context = create({});
  if (checks) context.assertUsable();
  const identity = {
    context,
    variable: certificates && new ChosenContexts(certificates, options.sessionIdContext ?? '', create),
    alpn: alpn === undefined ? HTTP1 : alpnList(alpn),
    clientAuthority: options.clientAuthority,
    rejection: rejectsHandshake ? REJECTED : awaitsCertificate ? AWAITING : undefined,
  };
  return { settings, identity, http2Identity: { ...identity, alpn: HTTP2 } };
}

/** One context for each certificate, as long as that is retained elsewhere. */
class ChosenContexts implements VariableContexts {
  readonly #made = new WeakMap<ChosenCertificates, TlsContext>();

  constructor(
    private readonly certificates: CertificateChooser,
    private readonly sessionIdContext: string,
    private readonly create: (options: TlsContextSettings) => TlsContext,
  ) {}

  contextFor(subject: object): TlsContext | undefined {
    const chosen = this.certificates.choose(subject);
    const made = chosen && this.#made.get(chosen);
    if (chosen === undefined || made !== undefined) return made;
    const { cert, key, digest } = chosen;
    // A session is good for the certificate that it was made with; OpenSSL takes 32 bytes.
    const context = this.create({ cert, key, sessionIdContext: `${this.sessionIdContext.slice(0, 8)}${digest.slice(0, 24)}` });
    this.#made.set(chosen, context);
    return context;
  }
}
