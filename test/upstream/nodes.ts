import { diffTrees } from '../../core/config/diff.js';
import { parseText } from '../../core/config/parser.js';
import { SpecRegistry } from '../../core/config/registry.js';
import { ConfigTree, IdSource, type TreeOperation } from '../../core/config/tree.js';
import type { Change, Prepared } from '../../core/config/change.js';
import { text } from '../../core/contract/args.js';
import type { Template } from '../../core/contract/http.js';
import { declarationOf } from '../../core/contract/manifest.js';
import { directive, type ArgContext } from '../../core/contract/spec.js';
import type { Discovery } from '../../core/upstream/discovery/discovery.js';
import type { HostLookup } from '../../core/upstream/host-lookup.js';
import type { Upstream } from '../../core/upstream/upstream.js';
import { UpstreamSet, type UpstreamSetOptions } from '../../core/upstream/upstreams.js';
import { ZoneSet } from '../../core/zone/zone-set.js';
import { UpstreamBlocks } from '../../modules/upstream/srv_http_upstream_module.js';
import { Hash } from '../../modules/upstream_hash/srv_http_upstream_hash_module.js';
import { IpHash } from '../../modules/upstream_ip_hash/srv_http_upstream_ip_hash_module.js';
import { LeastConn } from '../../modules/upstream_least_conn/srv_http_upstream_least_conn_module.js';
import { LeastTime } from '../../modules/upstream_least_time/srv_http_upstream_least_time_module.js';
import { RandomMethod } from '../../modules/upstream_random/srv_http_upstream_random_module.js';
import { StandingClock } from './upstreams.js';

const around = {
  http: directive({ in: ['main'], block: 'http' }),
  server: directive({ in: ['http'], block: 'server', many: true }),
  server_name: directive({ in: ['server'], args: text(), many: true }),
};

/** The modules with balancing methods, as they run. */
const METHODS = [Hash, IpHash, LeastConn, LeastTime, RandomMethod].map((module) => {
  const declaration = declarationOf(module)!;
  return { name: declaration.manifest.name, declaration, hooks: new module() };
});

function registry(): SpecRegistry {
  const specs = new SpecRegistry();
  specs.register('around', around);
  specs.register('srv_http_upstream_module', declarationOf(UpstreamBlocks)?.manifest.directives ?? {});
  for (const { name, declaration } of METHODS) specs.register(name, declaration.manifest.directives ?? {});
  return specs;
}

/** The only variable there is: the URI of the request. */
const template = (): Template => ({ constant: undefined, of: (request) => request.uri });
const args: ArgContext = { template, parts: () => [], path: (path) => path };

export interface NodeOptions {
  readonly workers?: number;
  readonly lookup?: HostLookup;
  /** Looks up the names of servers with `resolve`. */
  readonly discovery?: Discovery;
}

/** The upstream part of a node: a master and its workers, which here live in one thread. */
export class TestNode {
  readonly clock = new StandingClock();
  readonly registry = registry();
  readonly ids = new IdSource();
  readonly zones = new ZoneSet('create');
  readonly master: UpstreamSet;
  readonly workers: UpstreamSet[];
  readonly workerZones: ZoneSet[];
  /** `upstream member` of each that became unavailable. */
  readonly unavailable: string[] = [];
  tree: ConfigTree = ConfigTree.empty;
  readonly #seen: number[];
  readonly #common: Pick<UpstreamSetOptions, 'clock' | 'onUnavailable' | 'lookup'>;

  constructor({ workers = 2, lookup, discovery }: NodeOptions = {}) {
    const common = (this.#common = {
      clock: this.clock,
      onUnavailable: (peer: { readonly server: string }, upstream: { readonly name: string }) =>
        void this.unavailable.push(`${upstream.name} ${peer.server}`),
      ...(lookup && { lookup }),
    });
    this.master = new UpstreamSet({ role: 'master', workers, zones: this.zones, ...common, ...(discovery && { discovery }) });
    this.workerZones = Array.from({ length: workers }, () => new ZoneSet('adopt'));
    this.#seen = this.workerZones.map(() => 0);
    this.workers = this.workerZones.map((zones, worker) => new UpstreamSet({ role: 'worker', worker, zones, ...common }));
  }

  /** Brings the addresses of names into force from now on. */
  discover(): void {
    this.master.discovered?.start({
      inTurn: (step) => step(),
      tell: (_channel, data) => {
        for (const worker of this.workers) worker.replica.take(structuredClone(data));
        return Promise.resolve();
      },
    });
  }

  /** The only worker's, or the first one's upstream. */
  upstream(name: string, worker = 0): Upstream {
    const upstream = this.workers[worker]?.inForce(name);
    if (!upstream) throw new Error(`no upstream ${name}`);
    return upstream;
  }

  parse(configuration: string): ConfigTree {
    const { directives, errors } = parseText(configuration, { ids: this.ids, file: 'test.conf' });
    if (errors.length > 0) throw new Error(errors[0]?.message);
    return ConfigTree.fromData(directives);
  }

  /** Start, or a reload with another file. */
  load(configuration: string): Promise<void> {
    return this.apply(diffTrees(this.tree, this.parse(configuration), this.registry));
  }

  async apply(operations: readonly TreeOperation[], fate: 'commit' | 'abort' = 'commit'): Promise<void> {
    const after = this.tree.apply(operations);
    const change = {
      before: this.tree,
      after,
      operations,
      modules: Object.assign([...METHODS], { registry: this.registry, argsOf: () => args }),
    } as unknown as Change;
    const prepared: Prepared[] = [await this.master.prepare(change)];
    for (const [index, worker] of this.workers.entries()) {
      this.workerZones[index]?.adopt(this.zones.shares(this.#seen[index]));
      this.#seen[index] = this.zones.last;
      prepared.push(await worker.prepare(change));
    }
    for (const part of prepared) part[fate]();
    if (fate === 'commit') this.tree = after;
  }

  /** A worker that starts now, and takes the current configuration. Returns its number. */
  async join(): Promise<number> {
    const worker = this.workers.length;
    const zones = new ZoneSet('adopt');
    zones.adopt(this.zones.shares());
    const set = new UpstreamSet({ role: 'worker', worker, zones, ...this.#common });
    const operations = [{ op: 'root', block: this.tree.toData() }] as const;
    const after = ConfigTree.empty.apply(operations);
    const modules = Object.assign([...METHODS], { registry: this.registry, argsOf: () => args });
    (await set.prepare({ before: ConfigTree.empty, after, operations, modules } as unknown as Change)).commit();
    this.workers.push(set);
    this.workerZones.push(zones);
    this.#seen.push(this.zones.last);
    return worker;
  }

  /** Adds one line to an upstream, as the API does. */
  async add(upstream: string, line: string, fate: 'commit' | 'abort' = 'commit'): Promise<number> {
    const [data] = this.parse(line).toData();
    if (!data) throw new Error('no line');
    await this.apply([{ op: 'add', parent: this.idOf('upstream', upstream), directive: data }], fate);
    return data.id;
  }

  /** Puts another line in the place of one. */
  async replace(id: number, line: string): Promise<void> {
    const [data] = this.parse(line).toData();
    if (!data) throw new Error('no line');
    await this.apply([{ op: 'replace', directive: { ...data, id } }]);
  }

  remove(id: number): Promise<void> {
    return this.apply([{ op: 'remove', id }]);
  }

  /** Id of the directive of this name and first argument. */
  idOf(name: string, argument: string): number {
    for (const http of this.tree.root)
      for (const child of http.block ?? []) {
        if (child.name === name && child.args[0]?.text === argument) return child.id;
        for (const inner of child.block ?? []) if (inner.name === name && inner.args[0]?.text === argument) return inner.id;
      }
    throw new Error(`no ${name} ${argument}`);
  }
}

/** Names of the next `count` choices; each request ends at once. */
export function choices(upstream: Upstream, count: number): string[] {
  return Array.from({ length: count }, () => {
    const peer = upstream.pick();
    if (!peer) return 'none';
    upstream.free(peer, false);
    return peer.server;
  });
}

/** `id server` of the current members, in each thread. */
export function members(node: TestNode, upstream = 'shop'): string[][] {
  const sets = [node.master, ...node.workers];
  return sets.map((set) => Array.from(set.inForce(upstream)?.peers ?? [], ({ id, server }) => `${id} ${server}`).toSorted());
}

/** Addresses of the members, which are the same in all threads. */
export function addresses(node: TestNode): string[] {
  const [first = [], ...others] = members(node);
  for (const other of others) if (other.join() !== first.join()) throw new Error(`threads differ: ${first.join()} and ${other.join()}`);
  return first.map((text) => text.split(' ')[1] ?? '').toSorted();
}
