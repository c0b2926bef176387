import type { CertificateChooser, ChosenCertificates } from '../contract/manifest.js';
import type { UpstreamTls } from '../contract/upstream-tls.js';
import { SharedByContent } from './shared-by-content.js';
import { TlsClient } from './tls-client.js';
import type { Transport } from './transport/transport.js';

/** The clients of one traffic engine in one thread. Settings that say the same share one, and with it TLS context and sessions. */
export class TlsClients {
  readonly #clients = new SharedByContent<UpstreamTls, TlsClient>((settings) => new TlsClient(settings));

  /** @returns what gives the client of each request or session */
  choice({ certificates, ...settings }: UpstreamTls): TlsClientChoice {
    return new TlsClientChoice(this.#clients, settings, certificates);
  }
}

/** Which client connects for a request: of certificates that variables name each has one of its own, and so connections and sessions of its own. */
export class TlsClientChoice {
  /** Shows the constant certificate, or none. */
  readonly common: TlsClient;
  readonly #made = new WeakMap<ChosenCertificates, TlsClient>();

  constructor(
    private readonly clients: SharedByContent<UpstreamTls, TlsClient>,
    private readonly settings: UpstreamTls,
    /** Undefined: {@link common} connects for all. */
    private readonly certificates: CertificateChooser | undefined,
  ) {
    this.common = clients.of(settings);
  }

  /** @param subject the request or session @throws Error for the error log: the certificate cannot be used */
  of(subject: object, transport: Transport): TlsClient {
    const chosen = this.certificates?.choose(subject);
    if (chosen === undefined) return this.common;
    const made = this.#made.get(chosen);
    if (made !== undefined) return made;
    const { cert, key } = chosen;
    const client = this.clients.of({ ...this.settings, context: { ...this.settings.context, cert, key } });
    assertUsable(client, transport);
    this.#made.set(chosen, client);
    return client;
  }
}

/** @throws Error of OpenSSL, in which there may be no more than the reason */
function assertUsable({ context }: TlsClient, transport: Transport): void {
  try {
    transport.prepareTls(context);
  } catch (error) {
    throw new Error(`cannot use the certificate of "proxy_ssl_certificate": ${(error as Error).message}`, { cause: error });
  }
}
