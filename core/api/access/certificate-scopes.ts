import type { CertificateScopes } from '../../contract/api-access.js';
import type { ClientCertificate } from '../../contract/client-connection.js';
import type { Scope } from '../../contract/http.js';
import { Scopes, ScopeError, SCOPES_HINT } from './scopes.js';

const FINGERPRINT = 'sha256:';

interface Entry {
  /** Hexadecimal digits; undefined: it goes by the subject. */
  readonly fingerprint: string | undefined;
  readonly subject: string;
  readonly scopes: Scopes;
}

/** Scopes of client certificates. */
export class Certificates {
  readonly #entries: readonly Entry[];

  /** @throws ConfigError */
  constructor(
    scope: Scope,
    lines: readonly CertificateScopes[],
    private readonly now: () => number,
  ) {
    this.#entries = scope.each(lines, (line) => entryOf(scope, line));
  }

  /**
   * Undefined: the certificate is not known. Who has its key is known from the handshake; who signed it matters where it goes by its subject.
   */
  find({ error, fingerprint256, subject, validTo }: ClientCertificate): Scopes | undefined {
    if (validTo <= this.now()) return undefined;
    const entry = this.#entries.find((one) =>
      one.fingerprint === undefined ? error === undefined && one.subject === subject : one.fingerprint === fingerprint256,
    );
    return entry?.scopes;
  }
}

function entryOf(scope: Scope, { certificate, scopes, line }: CertificateScopes): Entry {
  const isFingerprint = certificate.startsWith(FINGERPRINT);
  const fingerprint = isFingerprint ? certificate.slice(FINGERPRINT.length).replaceAll(':', '').toLowerCase() : undefined;
  if (fingerprint !== undefined && !/^[0-9a-f]{64}$/.test(fingerprint))
    scope.fail(`invalid fingerprint "${certificate}"`, line, 'as "openssl x509 -noout -fingerprint -sha256" shows it, after "sha256:"');
  try {
    return { fingerprint, subject: certificate, scopes: new Scopes(scopes) };
  } catch (error) {
    if (error instanceof ScopeError) return scope.fail(error.message, line, SCOPES_HINT);
    throw error;
  }
}
