/** An upstream in this process, whose members are picked for made-up requests: what a pick costs is measured without a server around it. */
import { parseText } from '../../core/config/parser.js';
import { SpecRegistry } from '../../core/config/registry.js';
import { ConfigTree, IdSource } from '../../core/config/tree.js';
import type { Change } from '../../core/config/change.js';
import { ModuleZones } from '../../core/kernel/module-zones.js';
import { OwnZones } from '../../core/kernel/own-zones.js';
import type { HttpRequest } from '../../core/contract/http.js';
import { declarationOf } from '../../core/contract/manifest.js';
import { directive, type ArgContext } from '../../core/contract/spec.js';
import { CoarseClock } from '../../core/net/clock.js';
import type { Upstream } from '../../core/upstream/upstream.js';
import { UpstreamSet } from '../../core/upstream/upstreams.js';
import { ZoneSet } from '../../core/zone/zone-set.js';
import { AppSticky } from '../../modules/app_sticky/srv_http_app_sticky_module.js';
import { Hash } from '../../modules/upstream_hash/srv_http_upstream_hash_module.js';
import { IpHash } from '../../modules/upstream_ip_hash/srv_http_upstream_ip_hash_module.js';
import { LeastConn } from '../../modules/upstream_least_conn/srv_http_upstream_least_conn_module.js';
import { LeastTime } from '../../modules/upstream_least_time/srv_http_upstream_least_time_module.js';
import { UpstreamBlocks } from '../../modules/upstream/srv_http_upstream_module.js';
import { RandomMethod } from '../../modules/upstream_random/srv_http_upstream_random_module.js';
import { StickySessions } from '../../modules/upstream_sticky/srv_http_upstream_sticky_module.js';
import { fakeRequest } from '../../testing/request.js';

/** Kind of the members of an upstream. */
export type Members = 'equal' | 'weighted' | 'half down';

/** Weights of members that differ: the first so many in turn. */
const WEIGHTS = 5;
/** Distinct requests, more than there are members in a cache. */
const REQUESTS = 6000;

/** The server lines of an upstream. */
function servers(count: number, members: Members): string {
  return Array.from({ length: count }, (_, at) => {
    const weight = members === 'weighted' ? ` weight=${(at % WEIGHTS) + 1}` : '';
    const down = members === 'half down' && at % 2 === 1 ? ' down' : '';
    return `server 10.${at >>> 16}.${(at >>> 8) & 255}.${at & 255} route=r${at}${weight}${down};`;
  }).join(' ');
}

/** Arguments of directives: a text without variables, or one variable. */
const args: ArgContext = {
  template: (text) => (text.startsWith('$') ? { constant: undefined, of: variable(text.slice(1)) } : { constant: text, of: () => text }),
  parts: () => [],
  path: (path) => path,
};

function variable(name: string): (request: HttpRequest) => string {
  return (request) => request.variable(name) ?? '';
}

/** The modules with balancing methods, as they run. */
function methodModules(zones: ModuleZones) {
  const own = new OwnZones('bench', zones);
  const modules = [
    [Hash, new Hash()],
    [IpHash, new IpHash()],
    [LeastConn, new LeastConn()],
    [LeastTime, new LeastTime()],
    [RandomMethod, new RandomMethod()],
    [StickySessions, new StickySessions(own)],
    [AppSticky, new AppSticky(own)],
  ] as const;
  return modules.map(([module, hooks]) => {
    const declaration = declarationOf(module)!;
    return { name: declaration.manifest.name, declaration, hooks };
  });
}

/** Requests that each have a key, an address, and the session and the route that a cookie names. */
function requestsFor(members: number): readonly HttpRequest[] {
  return Array.from({ length: REQUESTS }, (_, at) => {
    const spread = Math.imul(at, 0x9e3779b1) >>> 0;
    return fakeRequest({
      variables: {
        arg_key: `key${at}`,
        cookie_route: `r${spread % members}`,
        cookie_session: `session${at}`,
        upstream_cookie_session: `session${at}`,
      },
      connection: { remoteAddress: `${1 + (spread >>> 24)}.${(spread >>> 16) & 255}.${(spread >>> 8) & 255}.${at & 255}` },
    });
  });
}

export class PickStage {
  private constructor(
    private readonly upstream: Upstream,
    private readonly requests: readonly HttpRequest[],
  ) {}

  /** @param method lines of the `upstream` block that say how members are chosen */
  static async make(method: string, count: number, members: Members): Promise<PickStage> {
    const zones = new ZoneSet('create');
    const clock = new CoarseClock();
    const moduleZones = new ModuleZones({ zones, clock, worker: 0, workers: 1 });
    const modules = methodModules(moduleZones);
    const registry = new SpecRegistry();
    registry.register('bench', { http: directive({ in: ['main'], block: 'http' }) });
    registry.register('srv_http_upstream_module', declarationOf(UpstreamBlocks)?.manifest.directives ?? {});
    for (const { name, declaration } of modules) registry.register(name, declaration.manifest.directives ?? {});
    const text = `http { upstream bench { zone bench 64m; ${method} ${servers(count, members)} } }`;
    const { directives } = parseText(text, { ids: new IdSource(), file: 'bench.conf' });
    const operations = [{ op: 'root', block: directives }] as const;
    const after = ConfigTree.empty.apply(operations);
    const change = {
      before: ConfigTree.empty,
      after,
      operations,
      modules: Object.assign(modules, { registry, args, argsOf: () => args, argsIn: () => args }),
      warn: () => undefined,
    };
    const set = new UpstreamSet({ role: 'alone', zones, clock, onUnavailable: () => undefined });
    moduleZones.prepare(change as unknown as Change).commit();
    (await set.prepare(change as unknown as Change)).commit();
    const stage = new PickStage(set.inForce('bench')!, requestsFor(count));
    // Sessions begin.
    for (const request of stage.requests) stage.#serve(request);
    return stage;
  }

  /** Picks a member for every request, and ends each one. @returns nanoseconds of processor time for one */
  run(): number {
    const { user, system } = process.cpuUsage();
    for (const request of this.requests) this.#pick(request);
    const spent = process.cpuUsage();
    return ((spent.user - user + spent.system - system) * 1000) / this.requests.length;
  }

  #pick(request: HttpRequest): void {
    const { upstream } = this;
    upstream.free(upstream.pick(upstream.choiceFor(request))!, false);
  }

  #serve(request: HttpRequest): void {
    const { upstream } = this;
    const peer = upstream.pick(upstream.choiceFor(request))!;
    upstream.answered(peer, 200, 1 + (peer.id % 50));
    upstream.responded(request, peer);
    upstream.completed(request, peer);
    upstream.finished(peer, 100, 1000, 2 + (peer.id % 50));
    upstream.free(peer, false);
  }
}
