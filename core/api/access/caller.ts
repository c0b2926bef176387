import { ApiError, type CallAccess } from '../../contract/control.js';
import { DECLINED, OK, type HttpRequest } from '../../contract/http.js';
import type { ApiAccessSettings, ApiLimit } from '../../contract/api-access.js';
import { VERIFIED_USER } from '../../contract/verified-user.js';
import { AccessError, insufficientScope } from './access-error.js';
import { neededScopes, type RouteUse, type Scopes } from './scopes.js';

/** How a client has said who it is. */
export type Authentication = CallAccess['by'];

/** The caller of a call. */
export interface Identity {
  readonly actor: string;
  readonly by: Authentication;
  /** Undefined: everything. */
  readonly scopes: Scopes | undefined;
}

/** A call as it is checked: the route that its path matched, and the method that the client sent. */
export interface CheckedCall extends RouteUse {
  readonly method: string;
}

/** The client of one call, and what it may do. All calls of a transaction have the same. */
export interface Caller {
  /** For history and audit log. */
  readonly actor: string;
  readonly by: Authentication;
  /** For the caller itself. */
  readonly access: CallAccess;
  /** Checks a call before its body is read. @throws ApiError 401, 403 */
  assertMayUse(call: CheckedCall): Promise<void>;
  /** Checks what only shows when the input is known. @throws ApiError 403 */
  assertMayApply(use: RouteUse & { readonly isDryRun: boolean }): void;
}

/** Of a call that is rejected before anything is checked. */
export const NOBODY: Caller = {
  actor: 'anonymous',
  by: 'none',
  access: { by: 'none', scopes: [], isReadOnly: true },
  assertMayUse: () => Promise.reject(new ApiError(403, 'AccessDenied', 'access denied')),
  assertMayApply: () => {
    throw new ApiError(403, 'AccessDenied', 'access denied');
  },
};

/** A client whose calls take effect with a transaction, which may be a dry run. */
export function withinTransaction(caller: Caller): Caller {
  return {
    actor: caller.actor,
    by: caller.by,
    access: caller.access,
    assertMayUse: (call) => caller.assertMayUse(call),
    assertMayApply: (use) => caller.assertMayApply({ ...use, isDryRun: true }),
  };
}

export class LocationCaller implements Caller {
  constructor(
    private readonly request: HttpRequest,
    private readonly identity: Identity,
    private readonly settings: Pick<ApiAccessSettings, 'limits' | 'isReadOnly'>,
  ) {}

  get actor(): string {
    const { identity } = this;
    return identity.by === 'none' ? (this.#user ?? 'anonymous') : identity.actor;
  }

  get by(): Authentication {
    return this.identity.by === 'none' && this.#user !== undefined ? 'basic' : this.identity.by;
  }

  get access(): CallAccess {
    return { by: this.by, scopes: this.identity.scopes?.words, isReadOnly: this.settings.isReadOnly };
  }

  /** Whose password was right, in the location or in a rule. */
  get #user(): string | undefined {
    return this.request.get(VERIFIED_USER) as string | undefined;
  }

  async assertMayUse(call: CheckedCall): Promise<void> {
    this.#assertScopes(call);
    for (const limit of this.settings.limits)
      if (limit.key === call.key && !limit.methods.has(call.method)) await this.#assertWithin(limit, call.method);
  }

  assertMayApply(use: RouteUse & { readonly isDryRun: boolean }): void {
    this.#assertScopes(use);
    if (this.settings.isReadOnly && use.isWrite && !use.isDryRun)
      throw new ApiError(403, 'ReadOnly', 'the API is read-only (api_read_only): only dry runs are allowed');
  }

  #assertScopes(use: RouteUse): void {
    const { scopes, actor } = this.identity;
    if (scopes !== undefined && !scopes.allow(use)) throw insufficientScope(actor, neededScopes(use), String(scopes));
  }

  /** @throws ApiError with the status of the first rule that rejects the call */
  async #assertWithin({ handlers }: ApiLimit, method: string): Promise<void> {
    for (const handler of handlers) {
      const result = await handler(this.request);
      if (result !== OK && result !== DECLINED) throw this.#rejection(result, method);
    }
  }

  #rejection(status: number, method: string): ApiError {
    if (status === 403) return new ApiError(403, 'AccessDenied', `method ${method} is not allowed for this client`);
    if (status !== 401) return new ApiError(503, 'AccessUnavailable', 'the user name and password cannot be checked, see the error log');
    const challenge = this.request.response.get('WWW-Authenticate') ?? 'Basic';
    return new AccessError(401, 'Unauthorized', 'a user name and a password are required', [], { 'WWW-Authenticate': challenge });
  }
}
