import { action, type ActionContext } from '../../core/contract/control.js';
import { Channels } from '../../core/contract/channels.js';
import { DECLINED, type HttpHandlers, type HttpRequest, type MemberCall, type Result, type Scope } from '../../core/contract/http.js';
import { parseTime } from '../../core/contract/duration.js';
import { Log } from '../../core/contract/log.js';
import { httpModule, type HttpModule } from '../../core/contract/manifest.js';
import { Metrics } from '../../core/contract/metrics.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { Storage } from '../../core/contract/storage.js';
import { systemErrorText } from '../../core/contract/system-error.js';
import { SystemFiles } from '../../core/contract/system-files.js';
import { Tasks } from '../../core/contract/tasks.js';
import { Zones } from '../../core/contract/zones.js';
import { unprefixer } from '../../core/toolkit/exchange/prefix.js';
import { CacheFigures } from './cache-figures.js';
import { purge, showEntry, plusZone, showZone, type PurgeParams, type ShownEntry, type ShownZone } from './cache-actions.js';
import { CacheManager } from './cache-manager.js';
import { CacheZone } from './cache-zone.js';
import { isTrue } from './conditions.js';
import type { CachePlan } from './cache-plan.js';
import { cacheStateOf } from './cache-state.js';
import { CachedRequest } from './cached-request.js';
import { respondFromMemory } from './kept-hit.js';
import { CACHE_NAMES, cacheDirectives, type AllCacheDirectives, type CacheConf, type CachePath } from './directives.js';
import { noZone, Purges } from './purges.js';
import { sliceRange } from './slices.js';
import { digest } from './entry-names.js';
import { purgeKey } from './query-alias.js';
import { Invalidation, isUnsafe } from './rfc9111/invalidation.js';
import { nginxRules } from './nginx-rules.js';
import { rfc9111Rules } from './rfc9111/rfc9111-rules.js';
import type { Validity } from './rules.js';

const PREFIXES = ['proxy', 'fastcgi'] as const;
/** Views of the values without their prefixes. */
const CONFS = {
  proxy: unprefixer<AllCacheDirectives>('proxy', CACHE_NAMES),
  fastcgi: unprefixer<AllCacheDirectives>('fastcgi', CACHE_NAMES),
};
/** Milliseconds between two looks for what is to be removed. */
const TIDY_EVERY = 10_000;
const FIRST_STATUSES = [200, 301, 302];

const directives = { ...cacheDirectives('proxy', '$scheme$proxy_host$request_uri'), ...cacheDirectives('fastcgi') };
type CacheScope = Scope<typeof directives>;

/** Under this key a request that removes responses keeps its state. */
const INVALIDATION = {};

/** Stores responses of members, and responds with them (the caches of ngx_http_proxy_module and ngx_http_fastcgi_module). */
@httpModule({
  name: 'srv_http_cache_module',
  api: '1.2',
  plane: 'data',
  directives,
  variables: {
    upstream_cache_status: (request) => cacheStateOf(request)?.status,
    upstream_cache_key: (request) => cacheStateOf(request)?.key,
    upstream_cache_age: (request) => {
      const stored = cacheStateOf(request)?.stored;
      return stored && String(Math.max(0, Math.floor((request.startTime - stored.born) / 1000)));
    },
    upstream_cache_etag: (request) => cacheStateOf(request)?.stored?.etag || undefined,
    upstream_cache_last_modified: (request) => {
      const modified = cacheStateOf(request)?.stored?.modified ?? NaN;
      return Number.isNaN(modified) ? undefined : new Date(modified * 1000).toUTCString();
    },
  },
})
export class HttpCache implements HttpModule {
  /** By the names of their zones. */
  readonly #zones = new Map<string, CacheZone>();
  /** Scopes that may use a cache, by its name: those of the configuration. */
  readonly #users = new Map<string, number>();
  readonly #purges: Purges;

  readonly #caches = new WeakMap<object, WeakMap<object, ReadonlyMap<string, CacheZone>>>();

  constructor(
    private readonly zones: Zones,
    private readonly tasks: Tasks,
    private readonly info: ServerInfo,
    private readonly log: Log,
    private readonly metrics: Metrics,
    channels: Channels,
    storage: Storage,
    private readonly files: SystemFiles,
  ) {
    this.#purges = new Purges(channels, storage, info, log);
  }

  start(role: string): Promise<void> {
    return this.#purges.start(role);
  }

  compile(scope: CacheScope): HttpHandlers | undefined {
    const declared = this.#declared(scope, scope.conf.proxy_cache_path, scope.conf.fastcgi_cache_path);
    const plans = new Map<string, CachePlan>();
    for (const prefix of PREFIXES) {
      const plan = planOf(scope, prefix, declared);
      if (plan !== undefined) plans.set(prefix, plan);
    }
    if (plans.size === 0) return undefined;
    return {
      memberRequest: (request, call) => {
        const plan = plans.get(call.prefix);
        return plan === undefined ? undefined : this.#lookUp(request, call, plan);
      },
      memberResponse: (request, response) => {
        (request.get(INVALIDATION) as Invalidation | undefined)?.responded(response);
        return CachedRequest.of(request)?.responded(response);
      },
      memberReplaced: (request) => CachedRequest.of(request)?.replaced(),
      memberFailure: (request, failure) => CachedRequest.of(request)?.failed(failure),
      header: (request) => {
        const state = cacheStateOf(request);
        if (state?.allowsRanges === true) request.response.allowsRanges = true;
        const status = state?.cacheStatus ?? '';
        if (status !== '') request.response.append('Cache-Status', status);
      },
      explain: {
        memberRequest: (_, notes) => {
          notes.assume('the cache has no response that may be used');
          return DECLINED;
        },
      },
    };
  }

  #lookUp(request: HttpRequest, call: MemberCall, plan: CachePlan): Result | Promise<Result> {
    const name = plan.name.of(request);
    if (name === '' || name === 'off') return DECLINED;
    const zone = plan.zone(name);
    if (zone === undefined) {
      this.log.write('error', `cache "${name}" not found`, request);
      return 500;
    }
    const key = keyOf(plan, request, call);
    if (isTrue(plan.purge, request)) return this.#purge(plan, zone, key);
    if (plan.rules.invalidates && isUnsafe(request.method)) {
      request.set(INVALIDATION, new Invalidation(request, call.target, key, (one) => purgeKey(zone, one), this.log));
      return DECLINED;
    }
    if (!plan.methods.has(request.method) || isFat(request) || beginsTooLate(request, plan.maxRangeOffset)) return DECLINED;
    CachedRequest.leave(request);
    const result = respondFromMemory(request, call, plan, zone, key);
    if (result !== undefined) return result;
    const cached = new CachedRequest(request, call, plan, zone, key, this.log);
    const { parent } = request;
    const starter = parent && CachedRequest.of(parent);
    return cached.lookUp(starter?.key === key ? starter : undefined);
  }

  /** `proxy_cache_purge`: 204, or 404 if nothing is stored with the key. */
  async #purge(plan: CachePlan, zone: CacheZone, key: string): Promise<Result> {
    if (key.endsWith('*')) return (await this.#purges.purgePrefix(zone.name, key.slice(0, -1))) ? 204 : 500;
    try {
      return (await (plan.rules.readsQueries ? purgeKey(zone, key) : zone.purge(digest(key)))) ? 204 : 404;
    } catch (error) {
      this.log.write('crit', `cache "${zone.name}" cannot be purged (${systemErrorText(error)})`);
      return 500;
    }
  }

  @action('cache.list')
  list(): ShownZone[] {
    return [...this.#users.keys()].toSorted().map((name) => showZone(this.#known(name)));
  }

  /** For the API of NGINX Plus. */
  @action('cache.plus_zones')
  plusZones(): Readonly<Record<string, object>> {
    return Object.fromEntries([...this.#users.keys()].toSorted().map((name) => [name, plusZone(this.#known(name))]));
  }

  /** Begins the figures of {@link plusZones} again. @returns false if there is no such cache */
  @action('cache.plus_reset')
  plusReset({ zone }: { readonly zone: string }, { dryRun }: ActionContext): boolean {
    if (!this.#users.has(zone)) return false;
    if (!dryRun) this.#known(zone).figures.reset();
    return true;
  }

  @action('cache.entry')
  entry({ zone, key }: { readonly zone: string; readonly key: string }): Promise<ShownEntry> {
    return showEntry(this.#known(zone), key);
  }

  @action('cache.purge')
  purge(params: PurgeParams, { dryRun }: ActionContext): Promise<number | null> {
    return purge(this.#known(params.zone), this.#purges, params, dryRun);
  }

  /** @throws ApiError 404 */
  #known(name: string): CacheZone {
    const zone = this.#users.has(name) ? this.#zones.get(name) : undefined;
    if (zone === undefined) throw noZone(name);
    return zone;
  }

  /** The caches of a configuration: the same for all places that inherit the lines. */
  #declared(scope: CacheScope, ...lists: readonly (readonly CachePath[])[]): ReadonlyMap<string, CacheZone> {
    const [first = [], second = []] = lists;
    const known = this.#caches.get(first)?.get(second);
    const caches = known ?? new Map(lists.flat().map((path) => [path.keys_zone.name, this.#zone(path, scope)]));
    // A server holds them for its locations.
    if (scope.kind === 'server') for (const name of caches.keys()) this.#use(name, scope);
    if (known === undefined) this.#caches.set(first, (this.#caches.get(first) ?? new WeakMap<object, typeof caches>()).set(second, caches));
    return caches;
  }

  /** A cache is one of the configuration while some scope may use it. */
  #use(name: string, scope: CacheScope): void {
    this.#users.set(name, (this.#users.get(name) ?? 0) + 1);
    this.metrics.group(name, scope);
    const release = (): void => {
      const left = (this.#users.get(name) ?? 0) - 1;
      if (left > 0) this.#users.set(name, left);
      else this.#users.delete(name);
    };
    scope.register({ abort: release, release });
  }

  #zone(path: CachePath, scope: CacheScope): CacheZone {
    const { name } = path.keys_zone;
    const known = this.#zones.get(name);
    if (known?.path === path) return known;
    const figures = new CacheFigures(this.metrics.group(name, scope), name);
    const zone = new CacheZone(path, this.zones, this.info.path('proxy_temp'), this.log, this.#purges.of(name), figures, this.files);
    this.#zones.set(zone.name, zone);
    if (this.info.role === 'master') scope.register({ commit: () => this.#manage(zone) });
    return zone;
  }

  /** The main thread does it for all workers. */
  #manage(zone: CacheZone): void {
    const manager = new CacheManager(zone, this.log);
    const isCurrent = (): boolean => this.#zones.get(zone.name) === zone;
    this.tasks.run(async (signal) => {
      await manager.prepare();
      if (!zone.index.isLoaded) await manager.load(signal);
    });
    const tidying = this.tasks.every(TIDY_EVERY, async (signal) => {
      if (!isCurrent()) {
        tidying.cancel();
        return;
      }
      await manager.look();
      if (!zone.index.isLoaded) return;
      await manager.tidy(signal);
      await manager.sweep(signal);
    });
  }
}

function planOf(scope: CacheScope, prefix: (typeof PREFIXES)[number], declared: ReadonlyMap<string, CacheZone>): CachePlan | undefined {
  const conf = CONFS[prefix](scope.conf);
  const { constant } = conf.cache;
  const directiveName = `${prefix}_cache`;
  if (constant === 'off' || constant === '') return undefined;
  if (constant !== undefined && !declared.has(constant))
    scope.fail(
      `"${directiveName}" zone "${constant}" is unknown`,
      directiveName,
      `declare it: ${directiveName}_path /path keys_zone=${constant}:10m;`,
    );
  const { cache_key: key } = conf;
  if (key.constant === '')
    scope.fail(
      `no "${directiveName}_key" for "${directiveName}"`,
      directiveName,
      'for example: fastcgi_cache_key $scheme$request_method$host$request_uri;',
    );
  const rules = conf.cache_rules === 'rfc9111' ? rfc9111Rules : nginxRules;
  return {
    conf,
    rules,
    validity: validityOf(scope, conf, `${prefix}_cache_valid`),
    stale: new Set(conf.cache_use_stale.cases),
    methods: new Set(['GET', 'HEAD', ...conf.cache_methods.methods]),
    key,
    isDefaultKey: key.constant === undefined && scope.lines(`${prefix}_cache_key`).length === 0,
    name: conf.cache,
    bypass: conf.cache_bypass,
    purge: conf.cache_purge,
    maxRangeOffset: conf.cache_max_range_offset,
    showsStatus: conf.cache_status,
    zone: (name) => declared.get(name),
  };
}

/** The lines of `proxy_cache_valid`: of a status that several have, the first counts. */
function validityOf(scope: CacheScope, conf: CacheConf, name: string): Validity {
  const validity = new Map<number | 'any', number>();
  const lines = scope.lines(name);
  scope.each(conf.cache_valid.entries(), ([at, { words }]) => {
    const last = words.at(-1) ?? '';
    const ms = parseTime(last);
    if (ms === undefined) scope.fail(`invalid time value "${last}"`, lines[at], 'the last word is a time: 200 302 10m');
    const statuses =
      words.length === 1 ? FIRST_STATUSES : words.slice(0, -1).map((word) => statusOf(word, (message) => scope.fail(message, lines[at])));
    for (const status of statuses) if (!validity.has(status)) validity.set(status, ms);
  });
  return validity;
}

function statusOf(word: string, fail: (message: string) => never): number | 'any' {
  if (word === 'any') return 'any';
  return /^[1-5]\d\d$/.test(word) ? Number(word) : fail(`invalid status "${word}"`);
}

/** A slice has a key of its own, also where the directive does not name it. */
function keyOf(plan: CachePlan, request: HttpRequest, call: MemberCall): string {
  const text = plan.isDefaultKey ? defaultKey(plan, request, call) : plan.key.of(request);
  const range = sliceRange(request);
  return range === '' || text.includes(range) ? text : `${text} ${range}`;
}

/**
 * In place of `$request_uri` the key has what members get: after a redirect, in a subrequest or a mirror, that of the client would be the key of
 * another response.
 */
function defaultKey({ key }: CachePlan, request: HttpRequest, { target }: MemberCall): string {
  const [text, { requestUri }] = [key.of(request), request];
  return target === requestUri ? text : `${text.slice(0, text.length - requestUri.length)}${target}`;
}

/** A GET with a body: the member may respond to the body, which no key has. */
function isFat({ method, hasBody }: HttpRequest): boolean {
  return hasBody && (method === 'GET' || method === 'HEAD');
}

/** A request for the rest of a large response is not worth the whole of it (`proxy_cache_max_range_offset`). */
function beginsTooLate(request: HttpRequest, offset: number | undefined): boolean {
  if (offset === undefined) return false;
  const [, start] = /^bytes=(\d*)-/.exec(request.header('range') ?? '') ?? [];
  return start !== undefined && (start === '' || Number(start) > offset);
}
