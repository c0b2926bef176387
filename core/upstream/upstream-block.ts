import type { Directive } from '../contract/tree.js';
import type { UpstreamConf } from '../toolkit/upstream.js';
import { Zone } from '../zone/zone.js';
import type { ZoneSet } from '../zone/zone-set.js';
import type { ChosenMethod } from './balancer.js';
import { Upstream } from './upstream.js';
import type { PreparedMember, PreparedMethod } from './upstream-updates.js';
import { ZoneFull } from './member-set.js';
import type { UpstreamOptions } from './upstream-options.js';
import { UpstreamMemory } from './upstream-memory.js';
import type { KeepaliveSettings } from './keepalive.js';
import { recordBytes } from './layout.js';
import type { Peer } from './peer.js';
import type { ServerEntry } from './server-line.js';
import type { UpstreamEngine } from './upstream-engine.js';
import { ZoneFullError } from './zone-full-error.js';
import type { ZoneChoice } from './zone-plan.js';

/** A current `server` line and its members. */
export interface ServerInForce {
  readonly directive: Directive;
  readonly peers: readonly Peer[];
}

/** Surroundings of the upstreams of one thread. */
export interface BlockOptions {
  readonly engine: UpstreamEngine;
  readonly zones: ZoneSet;
  /** True if this thread owns the upstreams in zones. */
  readonly owner: boolean;
  /** Workers that upstreams have places for. */
  readonly workers: number | undefined;
  readonly upstream: Omit<UpstreamOptions, 'owner' | 'keepalive'>;
}

export function keepaliveOf(conf: UpstreamConf): KeepaliveSettings {
  const { connections, local } = conf.keepalive;
  return {
    connections,
    local: local ?? false,
    requests: conf.keepalive_requests,
    time: conf.keepalive_time,
    timeout: conf.keepalive_timeout,
  };
}

/** An `upstream` block: its upstream, and which line made which member. */
export class UpstreamBlock {
  readonly servers = new Map<number, ServerInForce>();
  /** The lines among them whose names are looked up again and again (`resolve`). */
  readonly names = new Map<number, ServerEntry>();
  /** Undefined: round robin. */
  method: ChosenMethod | undefined = undefined;

  private constructor(
    public directive: Directive,
    readonly name: string,
    readonly upstream: Upstream,
    /** Undefined: it has memory of its own. */
    readonly zone: Zone | undefined,
    private readonly options: BlockOptions,
  ) {}

  /** Makes the upstream of a block, without members. @param members how many to expect @throws ZoneFullError */
  static create(
    directive: Directive,
    conf: UpstreamConf,
    choice: ZoneChoice | undefined,
    members: number,
    options: BlockOptions,
  ): UpstreamBlock {
    const name = directive.args[0]?.text ?? '';
    const owner = options.owner || choice === undefined;
    const zone = choice && options.zones.open(choice.name, choice.size, options.engine.context);
    const memory = memoryIn(zone ?? privateZone(name, members), directive, owner, options.workers);
    if (memory === undefined) {
      if (zone !== undefined) options.zones.close(zone);
      throw new ZoneFullError(directive, `zone "${zone?.name ?? ''}" is too small: it has no room for upstream "${name}"`);
    }
    return new UpstreamBlock(
      directive,
      name,
      new Upstream(name, memory, { ...options.upstream, owner, keepalive: keepaliveOf(conf) }),
      zone,
      options,
    );
  }

  /** Makes another balancing method ready. @throws ZoneFullError */
  prepareMethod(method: ChosenMethod | undefined): PreparedMethod {
    const { commit, ...rest } = this.#withRoom('the balancing method', () => this.upstream.updates.prepareMethod(method));
    return {
      ...rest,
      commit: () => {
        commit();
        this.method = method;
      },
    };
  }

  /** Makes the queue ready that the block has. @throws ZoneFullError */
  prepareQueue({ queue }: UpstreamConf): Pick<PreparedMember, 'commit' | 'abort'> {
    const settings = queue && { size: queue.number, timeout: queue.timeout };
    return this.#withRoom('the queue', () => this.upstream.updates.prepareQueue(settings));
  }

  /** @throws ZoneFullError if the zone has no room for `what` */
  #withRoom<T>(what: string, prepare: () => T): T {
    try {
      return prepare();
    } catch (error) {
      if (!(error instanceof ZoneFull)) throw error;
      throw new ZoneFullError(this.directive, `zone "${this.zone?.name ?? ''}" is too small: it has no room for ${what}`);
    }
  }

  /** True if the upstream lives where `choice` says. */
  livesIn(choice: ZoneChoice | undefined): boolean {
    if (this.zone === undefined || choice === undefined) return this.zone === undefined && choice === undefined;
    return this.zone.name === choice.name && this.zone.size === choice.size - (choice.size % 8);
  }

  /**
   * Removed: the upstream cannot be found any more, requests that use it go on. True if its part of a zone has to be released later ({@link
   * destroy}).
   */
  retire(): boolean {
    this.upstream.retire();
    return this.#leaveZone() && this.upstream.owned;
  }

  /** Gives its part of a zone back. False if a request may still need it. */
  destroy(): boolean {
    return this.upstream.destroy(rootName(this.directive));
  }

  /** It never was active. */
  discard(): void {
    if (this.zone !== undefined && this.upstream.owned) this.upstream.discard(rootName(this.directive));
    this.#leaveZone();
  }

  #leaveZone(): boolean {
    return this.zone !== undefined && this.options.zones.close(this.zone);
  }
}

/** Ids are the same in all threads and not used again. */
function rootName(directive: Directive): string {
  return `upstream:${directive.id}:${directive.args[0]?.text ?? ''}`;
}

function memoryIn(zone: Zone, directive: Directive, owner: boolean, workers: number | undefined): UpstreamMemory | undefined {
  const name = rootName(directive);
  if (owner) return UpstreamMemory.create(zone, name, workers);
  const memory = UpstreamMemory.attach(zone, name);
  if (memory === undefined) throw new Error(`upstream "${directive.args[0]?.text ?? ''}" is not in zone "${zone.name}"`);
  return memory;
}

function privateZone(name: string, members: number): Zone {
  return Zone.create(name, 4096 + members * (recordBytes(1) * 2), { shared: false, growable: true });
}
