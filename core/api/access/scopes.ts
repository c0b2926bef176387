/**
 * Scopes of tokens and client certificates: `read`, `write` (which includes reading), `profile`, each followed by what it is limited to. `read
 * write upstream:shop` reads everything and changes one upstream.
 */

/** Effect of a call, by the route that it matched. */
export interface RouteUse {
  readonly isWrite: boolean;
  /** Key of the module. */
  readonly key: string;
  /** The scope that it needs instead of `read` and `write`. */
  readonly scope?: 'profile' | undefined;
  /** The upstream that it is about. */
  readonly upstream: string | undefined;
  /** The upstream is named by the body, which is not read yet: the first look only sees whether there can be one. */
  readonly isUpstreamInBody?: boolean;
  /** All who may read or write anything may make it: the document of the API, and calls that carry others, which are checked each. */
  readonly isCommon?: boolean;
}

/** One of `read`, `write` and `profile` with its limits; without any it is for all routes. */
interface Grant {
  readonly action: string;
  readonly modules: ReadonlySet<string>;
  readonly upstreams: ReadonlySet<string>;
}

/** Words that cannot be scopes. */
export class ScopeError extends Error {}

const ACTIONS = new Set(['read', 'write', 'profile']);
export const SCOPES_HINT = 'scopes are: read, write, profile, each with any number of module:KEY and upstream:NAME after it';

export class Scopes {
  readonly #grants: readonly Grant[];

  /** @throws ScopeError */
  constructor(readonly words: readonly string[]) {
    this.#grants = grantsOf(words);
  }

  /** Keys of all modules that limits name. */
  get modules(): ReadonlySet<string> {
    return new Set(this.#grants.flatMap(({ modules }) => [...modules]));
  }

  allow({ isWrite, key, upstream, scope, isUpstreamInBody = false, isCommon = false }: RouteUse): boolean {
    return this.#grants.some(({ action, modules, upstreams }) => {
      if (scope !== undefined && action !== scope) return false;
      if (scope === undefined && isWrite && action !== 'write') return false;
      if (scope === undefined && action === 'profile' && !isCommon) return false;
      if (isCommon || modules.size + upstreams.size === 0 || modules.has(key)) return true;
      return isUpstreamInBody ? upstreams.size > 0 : upstream !== undefined && upstreams.has(upstream);
    });
  }

  toString(): string {
    return this.words.join(' ');
  }
}

/** The narrowest scopes that a call needs, for the caller. */
export function neededScopes({ isWrite, key, upstream, scope }: RouteUse): string {
  return `${scope ?? (isWrite ? 'write' : 'read')} ${upstream === undefined ? `module:${key}` : `upstream:${upstream}`}`;
}

function grantsOf(words: readonly string[]): Grant[] {
  if (words.length === 0) throw new ScopeError('no scopes');
  const grants: { action: string; modules: Set<string>; upstreams: Set<string> }[] = [];
  for (const word of words) {
    if (ACTIONS.has(word)) {
      grants.push({ action: word, modules: new Set(), upstreams: new Set() });
      continue;
    }
    const [, kind, name = ''] = /^(module|upstream):(.+)$/s.exec(word) ?? [];
    if (kind === undefined) throw new ScopeError(`invalid scope "${word}"`);
    const grant = grants.at(-1);
    if (grant === undefined) throw new ScopeError(`scope "${word}" must follow "read", "write" or "profile"`);
    (kind === 'module' ? grant.modules : grant.upstreams).add(name);
  }
  return grants;
}
