import type { PeerView, QueueView, UpstreamView } from '../contract/upstreams.js';
import type { Directive } from '../contract/tree.js';
import type { Clock } from '../net/clock.js';
import type { Upstream } from './upstream.js';
import { NO_CHECKS, NO_FIGURES } from './no-figures.js';
import { W } from './layout.js';
import { stateOf } from './member-state.js';
import type { Peer } from './peer.js';
import type { ServerEntry } from './server-line.js';
import type { UpstreamBlock } from './upstream-block.js';
import { wordOf } from '../zone/offsets.js';

/** An upstream as the API and modules see it. Figures are those of the moment they are asked for. */
export class UpstreamSnapshot implements UpstreamView {
  readonly zone: string | undefined;
  private readonly upstream: Upstream;

  constructor(
    private readonly block: UpstreamBlock,
    private readonly current: () => Directive,
    private readonly clock: Clock,
  ) {
    this.upstream = block.upstream;
    this.zone = block.zone?.name;
  }

  get name(): string {
    return this.upstream.name;
  }

  get directive(): Directive {
    return this.current();
  }

  get size(): number {
    return this.upstream.size;
  }

  get keepalive(): number {
    return this.upstream.memory.idle;
  }

  get zombies(): number {
    const { memory } = this.upstream;
    memory.enter(this.clock.now);
    const { zombies } = memory;
    memory.leave();
    return zombies;
  }

  get queue(): QueueView | undefined {
    const { memory, queue } = this.upstream;
    if (queue?.settings === undefined) return undefined;
    memory.enter(this.clock.now);
    const { size, overflows } = memory.queue;
    memory.leave();
    return { size, maxSize: queue.settings.size, overflows };
  }

  get peers(): Iterable<PeerView> {
    return this.#views();
  }

  peer(id: number): PeerView | undefined {
    const peer = this.upstream.peer(id);
    return peer && viewOf(peer, this.upstream, this.clock.refresh());
  }

  addresses({ id }: Directive): readonly PeerView[] | undefined {
    if (!this.block.names.has(id)) return undefined;
    const now = this.clock.refresh();
    return this.block.servers.get(id)?.peers.map((peer) => viewOf(peer, this.upstream, now));
  }

  resetStatistics(): void {
    const { memory } = this.upstream;
    const now = this.clock.refresh();
    memory.enter(now);
    memory.queue.reset();
    memory.leave();
    for (const peer of this.upstream.peers) {
      memory.enter(now);
      memory.tally.reset(peer.offset, now);
      memory.leave();
      peer.checked?.reset();
    }
  }

  *#views(): Generator<PeerView> {
    const now = this.clock.refresh();
    for (const peer of this.upstream.peers) yield viewOf(peer, this.upstream, now);
    for (const [line, entry] of this.block.names) if (this.block.servers.get(line)?.peers.length === 0) yield resolvingView(entry);
  }
}

export function viewOf(peer: Peer, { memory }: Upstream, now: number): PeerView {
  const { member } = peer;
  memory.enter(now);
  const figures = memory.tally.read(peer.offset, now);
  const flags = memory.zone.u32[wordOf(peer.offset) + W.flags]!;
  memory.leave();
  const { failed, ...rest } = figures;
  return {
    id: peer.id,
    server: peer.server,
    name: member.name,
    directive: member.directive!,
    ...(member.found && { parent: member.key }),
    ...(member.found?.limits && { limits: member.found.limits }),
    backup: member.settings.backup,
    weight: member.settings.weight,
    maxConns: member.settings.maxConns,
    state: stateOf(flags, figures.downstart),
    fails: failed,
    health: peer.checked?.figures ?? NO_CHECKS,
    ...rest,
  };
}

/** A name that has no address. */
function resolvingView({ key, name, directive, parameters }: ServerEntry): PeerView {
  const { backup, weight, maxConns } = parameters;
  return { id: key, server: name, name, directive, backup, weight, maxConns, state: 'resolving', ...NO_FIGURES };
}
