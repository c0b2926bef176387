import { ErrorCollector } from '../config/error-collector.js';
import { LayeredMap } from '../config/layered-map.js';
import { ConfigTree, type Tree } from '../config/tree.js';
import type { Change, Follower, Prepared } from '../config/change.js';
import type { Log } from '../contract/log.js';
import { Upstreams, type UpstreamView } from '../contract/upstreams.js';
import type { HttpRequest } from '../contract/http.js';
import type { Directive } from '../contract/tree.js';
import type { Clock } from '../net/clock.js';
import type { NameResolver } from '../net/dns/resolution.js';
import type { TimerWheel } from '../net/timers.js';
import type { ZoneSet } from '../zone/zone-set.js';
import { assertServers } from './assert-servers.js';
import { UpstreamBlockChanges } from './block-changes.js';
import { DiscoveredMembers } from './discovery/discovered-members.js';
import type { Discovery } from './discovery/discovery.js';
import { MemberReplica } from './discovery/member-replica.js';
import { assertResolvable, changesResolver } from './discovery/name-query.js';
import { CarriedMembers } from './carried-members.js';
import type { MemberWatch } from './member-watch.js';
import type { WatchedUpstream } from './watched-upstream.js';
import type { Upstream } from './upstream.js';
import { UpstreamSnapshot } from './upstream-snapshot.js';
import { remembering, systemLookup, type HostLookup } from './host-lookup.js';
import { ImplicitUpstreams } from './implicit-upstreams.js';
import { DEFAULT_KEEPALIVE } from './keepalive.js';
import { MemberSources } from './member-sources.js';
import { Methods } from './methods.js';
import type { Peer } from './peer.js';
import { previewOf, type UpstreamPreview } from './preview.js';
import { prepareAll } from './prepare-all.js';
import { prepareServers } from './server-changes.js';
import { SharedParameters, type LineContext } from './server-line.js';
import { touchedBy, upstreamsOf, type Touched } from './touched.js';
import type { BlockOptions, UpstreamBlock } from './upstream-block.js';
import { HTTP_UPSTREAMS, type UpstreamEngine } from './upstream-engine.js';
import { upstreamKey } from './upstream-key.js';
import { ZonePlan } from './zone-plan.js';

export interface UpstreamSetOptions {
  /** Default: HTTP. */
  readonly engine?: UpstreamEngine;
  /** `master`: owns the upstreams in zones, carries no traffic. `worker`: attaches to them. `alone`: no other thread (a check, the control plane). */
  readonly role: 'master' | 'worker' | 'alone';
  /** 0-based number of this worker. */
  readonly worker?: number;
  /** Workers that upstreams have places for (worker_processes). Master only. */
  readonly workers?: number;
  readonly zones: ZoneSet;
  readonly clock: Clock;
  readonly timers?: TimerWheel;
  /** A member failed so often that it gets no requests for its fail_timeout. */
  readonly onUnavailable: (peer: Peer, upstream: WatchedUpstream) => void;
  /** The balancer of a module has thrown. */
  readonly onBalancerError?: (module: string, error: unknown, upstream: WatchedUpstream) => void;
  /** A member takes effect. In the master only. */
  readonly onAdded?: (peer: Peer, upstream: WatchedUpstream) => void;
  /** The health checker of a module has thrown. */
  readonly onCheckerError?: (module: string, error: unknown, upstream: WatchedUpstream) => void;
  readonly watch?: MemberWatch | undefined;
  readonly lookup?: HostLookup;
  /** Looks up the names of servers with `resolve`. Master only. */
  readonly discovery?: Discovery | undefined;
  readonly log?: Pick<Log, 'write'>;
}

const SILENT: Pick<Log, 'write'> = { write: () => undefined };

/** The `upstream` current blocks: finds upstreams for traffic and shows them to modules. Follows the tree one member at a time. */
export class UpstreamSet extends Upstreams implements Follower {
  readonly #blocks = new Map<number, UpstreamBlock>();
  #names = LayeredMap.of<string, UpstreamBlock>([]);
  #zones: ZonePlan;
  #methods: Methods | undefined;
  #sources: MemberSources | undefined;
  /** The names as they will be, while a change is being prepared. */
  #coming: LayeredMap<string, UpstreamBlock> | undefined;
  /** The names of the change that was rejected last, and why. */
  #refused: { readonly names: ReadonlySet<string>; readonly error: unknown } | undefined;
  #tree: Tree = ConfigTree.empty;
  #modules: Change['modules'] | undefined;
  /** Removed, but with requests in progress. */
  #retired: UpstreamBlock[] = [];
  /** Current, and changed since their memory was last searched for remains of changes. */
  readonly #changed = new Set<UpstreamBlock>();
  readonly #implicit: ImplicitUpstreams;
  readonly #options: BlockOptions;
  readonly #lookup: HostLookup;
  /** In the master: the members that names are resolved to. */
  readonly discovered: DiscoveredMembers | undefined;
  /** In the master: what another program takes over of the members. */
  readonly carried: CarriedMembers;
  /** In a worker: follows them. */
  readonly replica = new MemberReplica(this.#blocks);

  constructor({
    engine = HTTP_UPSTREAMS,
    role,
    worker = 0,
    workers,
    zones,
    clock,
    timers,
    onUnavailable,
    onBalancerError,
    onCheckerError,
    onAdded,
    watch,
    lookup = systemLookup,
    discovery,
    log = SILENT,
  }: UpstreamSetOptions) {
    super();
    const upstream = {
      clock,
      worker: role === 'master' ? -1 : worker,
      onUnavailable,
      ...(timers && { timers }),
      ...(onBalancerError && { onBalancerError }),
      ...(onCheckerError && { onCheckerError }),
      ...(onAdded && { onAdded }),
      ...(watch && { watch }),
      earlierHealth: (peer: Peer, of: WatchedUpstream) => this.carried.healthOf(of, peer),
    };
    this.carried = new CarriedMembers({
      engine: engine.name,
      upstreams: () => this.#shared(),
      find: (name) => this.#names.get(name)?.upstream,
      place: (workers ?? 1) - 1,
      now: () => clock.refresh(),
    });
    this.#options = { engine, zones, owner: role !== 'worker', workers, upstream };
    this.#zones = ZonePlan.empty(engine);
    this.#lookup = lookup;
    if (discovery !== undefined)
      this.discovered = new DiscoveredMembers({ blocks: this.#blocks, discovery, clock, log, watch, engine: engine.name });
    this.#implicit = new ImplicitUpstreams({ ...upstream, owner: true, keepalive: DEFAULT_KEEPALIVE }, lookup);
  }

  /**
   * The upstream of an `upstream` block, of the configuration being prepared while one is. For compiling.
   * @throws ConfigErrors of the blocks, if they were rejected: this one is missing because of that
   */
  find(name: string): Upstream | undefined {
    if (this.#refused?.names.has(upstreamKey(name)) === true) throw this.#refused.error;
    return (this.#coming ?? this.#names).get(upstreamKey(name))?.upstream;
  }

  /** The upstream of a current `upstream` block. For requests. */
  inForce(name: string): Upstream | undefined {
    return this.#names.get(upstreamKey(name))?.upstream;
  }

  /** The upstream of one target of the configuration that no block names. @param host name, address, or `unix:/path` @throws (rejects) ArgError `host not found in upstream "x"` */
  implicit(host: string, port: number): Promise<Upstream> {
    return this.#implicit.find(host, port);
  }

  /**
   * The upstream of a target that a request names, and no block: without a promise, unless the name has to be looked up.
   * @param resolver that of the request's location @throws (or rejects) NotResolved, whose message is the line of the error log; AddressError
   */
  forRequest(host: string, port: number, resolver: NameResolver | undefined): Upstream | Promise<Upstream> {
    return this.#implicit.forRequest(host, port, resolver);
  }

  /** Result of {@link forRequest} without a resolver. */
  known(host: string, port: number): Upstream {
    return this.#implicit.known(host, port);
  }

  get(name: string): UpstreamView | undefined {
    const block = this.#names.get(upstreamKey(name));
    return block && this.#viewOf(block);
  }

  *all(): Generator<UpstreamView> {
    for (const block of this.#names.values()) yield this.#viewOf(block);
  }

  preview(upstream: Upstream, request: HttpRequest): UpstreamPreview {
    const block = this.#names.get(upstreamKey(upstream.name));
    return previewOf(upstream, block?.upstream === upstream ? block.method : undefined, request, this.#options.upstream.clock);
  }

  /** Subtracts what a worker had under way when it died. Master only, after `ZoneSet.releaseOf`. */
  dropWorker(worker: number): void {
    for (const { upstream, zone } of [...this.#blocks.values(), ...this.#retired]) if (zone !== undefined) upstream.dropWorker(worker);
  }

  async prepare(change: Change): Promise<Prepared> {
    this.#refused = undefined;
    this.#reclaim();
    const hasOtherModules = this.#modules !== undefined && this.#modules !== change.modules;
    const touched = touchedBy(change, this.#blocks, this.#engine.name, hasOtherModules);
    const otherResolver = changesResolver(change);
    const parts: Prepared[] = [];
    const abort = (): void => {
      for (const part of parts.toReversed()) part.abort();
      this.#coming = undefined;
    };
    try {
      if (otherResolver) this.#assertResolvable(change.after);
      if (touched.servers.size > 0) parts.push(await this.#prepareLines(change, touched.servers));
      if (touched.blocks.size > 0) parts.push(await this.#prepareBlocks(change, touched.blocks));
    } catch (error) {
      abort();
      const names = Array.from(upstreamsOf(change.after, this.#engine.name), ({ args }) => upstreamKey(args[0]?.text ?? ''));
      this.#refused = { names: new Set(names), error };
      throw error;
    }
    const commit = (): void => {
      // A thread without requests may not have looked for long, and what begins now is compared with the time of others.
      this.#options.upstream.clock.refresh();
      for (const part of parts) part.commit();
      this.#tree = change.after;
      this.#modules = change.modules;
      this.#coming = undefined;
      const ids = [...touched.blocks, ...touched.servers.keys()];
      for (const id of ids) this.#markChanged(id);
      const sources = this.#sourcesOf(change);
      if (otherResolver) this.discovered?.followAll(change.after, sources);
      else this.discovered?.follow(change.after, touched, sources);
    };
    return { commit, abort };
  }

  /** Another program has taken over: it looks names up, and checks members. */
  retire(): void {
    this.discovered?.stop();
    for (const { upstream } of this.#blocks.values()) upstream.checks?.stop();
  }

  /** Closes the idle connections. */
  stop(): void {
    this.discovered?.stop();
    this.#implicit.close();
    for (const { upstream } of this.#blocks.values()) upstream.keepalive.close();
  }

  *#shared(): Generator<Upstream> {
    for (const { upstream, zone } of this.#names.values()) if (zone !== undefined) yield upstream;
  }

  /** Inherited settings of upstreams have changed: the ones with names to look up need them. @throws ConfigErrors */
  #assertResolvable(after: Tree): void {
    const errors = new ErrorCollector();
    for (const [id, { names, zone }] of this.#blocks) {
      const directive = names.size === 0 ? undefined : after.byId(id);
      if (directive !== undefined) errors.attempt(() => assertResolvable(directive, after.parentOf(id), zone !== undefined));
    }
    errors.throwIfAny();
  }

  /** Only `server` lines changed: what the rest of the configuration is does not matter. */
  async #prepareLines(change: Change, lines: Touched['servers']): Promise<Prepared> {
    const context = this.#contextOf(change);
    return prepareAll(lines, async ([id, servers]) => {
      const block = this.#blocks.get(id)!;
      const directive = change.after.byId(id)!;
      if (block.zone === undefined) assertServers(directive);
      const prepared = await prepareServers(block, servers, change.after, context, true);
      return { ...prepared, commit: () => this.#commitLines(block, directive, prepared) };
    });
  }

  #commitLines(block: UpstreamBlock, directive: Directive, prepared: Prepared): void {
    prepared.commit();
    block.directive = directive;
  }

  async #prepareBlocks(change: Change, touched: ReadonlySet<number>): Promise<Prepared> {
    if (this.#methods?.modules !== change.modules) this.#methods = new Methods(change.modules, this.#engine);
    const inForce = { blocks: this.#blocks, names: this.#names, zones: this.#zones };
    const changes = new UpstreamBlockChanges(inForce, touched, change, this.#contextOf(change), this.#methods, this.#options);
    const prepared = await changes.prepare();
    const names = (this.#coming = changes.names);
    return {
      commit: () => {
        prepared.commit();
        this.#names = names;
        this.#zones = changes.zones;
        this.#retired.push(...changes.retired);
        for (const block of changes.retired) this.#changed.delete(block);
      },
      abort: () => prepared.abort(),
    };
  }

  /** Frees what earlier changes left behind, not only in the upstreams that change now: others may need the room in a zone that they share. */
  #reclaim(): void {
    for (const block of this.#changed) if (block.upstream.reap()) this.#changed.delete(block);
    this.#retired = this.#retired.filter((block) => !block.destroy());
  }

  #markChanged(id: number): void {
    const block = this.#blocks.get(id);
    if (block !== undefined) this.#changed.add(block);
  }

  #sourcesOf({ modules }: Change): MemberSources {
    if (this.#sources?.modules !== modules) this.#sources = new MemberSources(modules, this.#engine);
    return this.#sources;
  }

  #contextOf(change: Change): LineContext {
    const { modules } = change;
    const { name, context, defaultPort } = this.#engine;
    const server = modules.registry.find(context, 'server');
    if (server === undefined) throw new Error(`no module declares "server" in ${context}`);
    return {
      server,
      args: modules.argsOf(name),
      lookup: remembering(this.#lookup),
      defaultPort,
      parameters: new SharedParameters(),
      sources: this.#sourcesOf(change),
      known: (entry, block) => this.discovered?.known(entry, block) ?? [],
    };
  }

  get #engine(): UpstreamEngine {
    return this.#options.engine;
  }

  #viewOf(block: UpstreamBlock): UpstreamView {
    const { directive } = block;
    return new UpstreamSnapshot(block, () => this.#tree.byId(directive.id) ?? directive, this.#options.upstream.clock);
  }
}
