import type { ApiAccessSettings } from '../../module/api-access.js';
import type { HttpRequest, Scope } from '../../module/http.js';
import { unauthorized } from './access-error.js';
import { LocationCaller, type Caller, type Identity } from './caller.js';
import { exposureOf, expiryText, findToken, tokensIn, type Token } from './token-file.js';

/** RFC 6750, 2.1: one token68, and nothing else in the field. */
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i;
const EVERYBODY: Identity = { actor: 'anonymous', by: 'none', scopes: undefined };

/** Who may use the API in one location. */
export class LocationAccess {
  readonly #tokens: readonly Token[];

  /** @throws ConfigError */
  constructor(
    scope: Scope,
    readonly settings: ApiAccessSettings,
    private readonly keys: ReadonlySet<string>,
    private readonly now: () => number = Date.now,
  ) {
    this.#tokens = this.#tokensOf(scope);
  }

  /** Clients have to say who they are. */
  get isProtected(): boolean {
    return this.settings.tokenFile !== undefined;
  }

  /** @throws ApiError 401 */
  callerOf(request: HttpRequest): Caller {
    return new LocationCaller(request, this.#identityOf(request), this.settings);
  }

  #identityOf(request: HttpRequest): Identity {
    if (!this.isProtected) return EVERYBODY;
    const sent = request.header('authorization');
    if (sent === undefined) throw unauthorized('a token is required: Authorization: Bearer TOKEN', false);
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
