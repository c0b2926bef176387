import type { ApiAccessSettings } from '../../contract/api-access.js';
import type { ClientCertificate } from '../../contract/client-connection.js';
import type { HttpRequest, Scope } from '../../contract/http.js';
import { unauthorized } from './access-error.js';
import { LocationCaller, type Caller, type Identity } from './caller.js';
import { Certificates } from './certificate-scopes.js';
import type { Scopes } from './scopes.js';
import { exposureOf, expiryText, findToken, tokensIn, type Token } from './token-file.js';

/** RFC 6750, 2.1: one token68, and nothing else in the field. */
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i;
const identityOf = ({ subject: actor }: ClientCertificate, scopes?: Scopes): Identity => ({ actor, by: 'certificate', scopes });
const EVERYBODY: Identity = { actor: 'anonymous', by: 'none', scopes: undefined };

/** Access to the API in one location. */
export class LocationAccess {
  readonly #tokens: readonly Token[];
  readonly #certificates: Certificates;
  /** The server accepts only clients with a valid certificate, on its TLS addresses. */
  readonly #isVerified: boolean;

  /** @throws ConfigError */
  constructor(
    scope: Scope,
    readonly settings: ApiAccessSettings,
    private readonly keys: ReadonlySet<string>,
    private readonly now: () => number = Date.now,
  ) {
    this.#tokens = this.#tokensOf(scope);
    const [verify] = scope.lines('ssl_verify_client');
    this.#isVerified = verify?.args[0]?.text === 'on';
    this.#certificates = new Certificates(scope, settings.certificates, now);
    const [line] = settings.certificates;
    if (line !== undefined && (verify?.args[0]?.text ?? 'off') === 'off')
      scope.fail(
        '"api_client_certificate" has no effect without "ssl_verify_client"',
        line.line,
        'add "ssl_verify_client on;" to the server',
      );
  }

  /** Clients have to say who they are. @param isSecure on an address with TLS */
  isProtected(isSecure: boolean): boolean {
    return this.#requiresIdentity || (isSecure && this.#isVerified);
  }

  get #requiresIdentity(): boolean {
    return this.settings.tokenFile !== undefined || this.settings.certificates.length > 0;
  }

  /** @throws ApiError 401 */
  callerOf(request: HttpRequest): Caller {
    return new LocationCaller(request, this.#identityOf(request), this.settings);
  }

  #identityOf(request: HttpRequest): Identity {
    const sent = request.header('authorization');
    if (sent !== undefined && this.settings.tokenFile !== undefined) return this.#ownerOf(sent);
    const { certificate } = request.connection;
    if (!this.#requiresIdentity) return certificate === undefined || certificate.error !== undefined ? EVERYBODY : identityOf(certificate);
    const scopes = certificate && this.#certificates.find(certificate);
    if (certificate !== undefined && scopes !== undefined) return identityOf(certificate, scopes);
    throw unauthorized(this.#missing(certificate), false);
  }

  #missing(certificate: ClientCertificate | undefined): string {
    if (this.settings.tokenFile !== undefined) return 'a token is required: Authorization: Bearer TOKEN';
    return certificate === undefined ? 'a client certificate is required' : 'the client certificate is not known here, or has expired';
  }

  /** @param sent the field Authorization @throws ApiError 401 */
  #ownerOf(sent: string): Identity {
    const [, text] = BEARER.exec(sent) ?? [];
    const token = text === undefined ? undefined : findToken(this.#tokens, text);
    if (token === undefined) throw unauthorized('the token is not valid', true);
    const { name: actor, expires, scopes } = token;
    if (expires !== undefined && expires <= this.now()) throw unauthorized(`the token "${actor}" expired at ${expiryText(expires)}`, true);
    return { actor, by: 'token', scopes };
  }

  #tokensOf(scope: Scope): readonly Token[] {
    const { tokenFile } = this.settings;
    if (tokenFile === undefined) return [];
    const line = 'api_tokens';
    const tokens = scope.file(tokenFile, tokensIn, line);
    const exposure = exposureOf(tokenFile);
    if (exposure !== undefined) scope.fail(exposure, line, `only its owner may: chmod 600 ${tokenFile}`);
    for (const { name, scopes } of tokens) this.#adviseOfModules(scope, name, scopes.modules);
    return tokens;
  }

  #adviseOfModules(scope: Scope, name: string, modules: Iterable<string>): void {
    for (const key of modules)
      if (!this.keys.has(key)) scope.advise(`token "${name}" names the module key "${key}", which no loaded module has`, 'api_tokens');
  }
}
