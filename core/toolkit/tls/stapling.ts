import type { ServerInfo } from '../../contract/server-info.js';
import type { CertificateChain, StapledStatus, StatusInquiry } from '../../contract/tls-library.js';
import { readChecked } from './pem-files.js';
import { digestOf } from './digest.js';
import { StapledStatuses, StatusOfFile, type StaplingServices, type StatusSource } from './stapled-statuses.js';
import { responderOf } from './status-request.js';
import type { TlsScope } from './server-tls-settings.js';

/** A certificate that a server sends. */
export interface SentCertificate {
  /** In PEM. */
  readonly cert: Buffer;
  /** For messages. */
  readonly path: string;
}

/** Compiles `ssl_stapling` and the directives beside it. */
export class Stapling {
  readonly #statuses: StapledStatuses;
  /** By the bytes of their files. */
  readonly #ofFiles = new WeakMap<Buffer, StatusOfFile>();

  constructor(private readonly services: StaplingServices) {
    this.#statuses = new StapledStatuses(services);
  }

  start(role: ServerInfo['role']): void {
    this.#statuses.start(role);
  }

  stop(): void {
    this.#statuses.stop();
  }

  /** The statuses of certificates, in their order. */
  of(scope: TlsScope<never>, certificates: readonly SentCertificate[]): readonly (StapledStatus | undefined)[] | undefined {
    const { conf } = scope;
    if (!conf.ssl_stapling || certificates.length === 0) return undefined;
    const obstacle = this.services.info.role === 'worker' ? undefined : this.services.library.obstacle;
    if (obstacle !== undefined) {
      scope.advise(`"ssl_stapling" ignored, not supported: ${obstacle}`, 'ssl_stapling');
      return undefined;
    }
    const file = this.#file(scope);
    if (file !== undefined) return certificates.map(() => file);
    const { ssl_client_certificate: authorities, ssl_trusted_certificate: trusted } = conf;
    const known = [
      ...(authorities ? [readChecked(scope, authorities, 'certificate', 'ssl_client_certificate')] : []),
      ...(trusted ? [readChecked(scope, trusted, 'certificate', 'ssl_trusted_certificate')] : []),
    ];
    return certificates.map((sent) => this.#fetched(scope, sent, known));
  }

  #file(scope: TlsScope<never>): StatusOfFile | undefined {
    const { ssl_stapling_file: file } = scope.conf;
    if (file === undefined) return undefined;
    const bytes = file.in(scope, 'ssl_stapling_file', (reason) => `BIO_new_file("${file.path}") failed (${reason})`);
    const known = this.#ofFiles.get(bytes);
    if (known !== undefined) return known;
    if (this.services.info.role !== 'worker') this.#assertResponse(scope, bytes, file.path);
    const made = new StatusOfFile(bytes);
    this.#ofFiles.set(bytes, made);
    return made;
  }

  #assertResponse(scope: TlsScope<never>, bytes: Buffer, path: string): void {
    try {
      this.services.library.assertResponse(bytes);
    } catch (error) {
      scope.fail(
        `cannot load "ssl_stapling_file" "${path}": ${(error as Error).message}`,
        'ssl_stapling_file',
        'it has a response in DER, as "openssl ocsp -respout" writes it',
      );
    }
  }

  #fetched(scope: TlsScope<never>, sent: SentCertificate, known: readonly Buffer[]): StapledStatus | undefined {
    const { ssl_stapling_verify: verifies, ssl_stapling_responder: url = '' } = scope.conf;
    // A text may end without a line feed.
    const trusted = known.length === 0 ? undefined : Buffer.concat(known.flatMap((pem) => [pem, Buffer.from('\n')]));
    const certificate = { chain: sent.cert, trusted };
    const source = this.services.info.role === 'worker' ? undefined : this.#source(scope, certificate, sent.path, url);
    if (typeof source === 'string') {
      scope.advise(`"ssl_stapling" ignored, ${source}`, 'ssl_stapling');
      return undefined;
    }
    const key = digestOf([sent.cert, trusted ?? Buffer.of(0), Buffer.from(`${verifies} ${url}`)]);
    scope.register({
      commit: () => this.#statuses.hold(key, source),
      abort: () => this.#statuses.release(key, false),
      release: () => this.#statuses.release(key, true),
    });
    return this.#statuses.of(key);
  }

  /** @returns a text: why there is none, in nginx's words. Undefined: the certificate cannot be used, which is reported elsewhere */
  #source(scope: TlsScope<never>, certificate: CertificateChain, path: string, url: string): StatusSource | string | undefined {
    const inquiry = this.#inquiryOf(certificate);
    if (inquiry === null) return undefined;
    if (inquiry === undefined) return `issuer certificate not found for certificate "${path}"`;
    const named = url === '' ? inquiry.responder : url;
    if (named === undefined) return `no OCSP responder URL in the certificate "${path}"`;
    const responder = responderOf(named);
    if (typeof responder === 'string') return `${responder} in the certificate "${path}"`;
    return { certificate, path, responder, verifies: scope.conf.ssl_stapling_verify };
  }

  /** Null: the certificate cannot be read. */
  #inquiryOf(certificate: CertificateChain): StatusInquiry | undefined | null {
    try {
      return this.services.library.inquiryOf(certificate);
    } catch {
      return null;
    }
  }
}
