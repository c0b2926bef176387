import type { Log } from '../../contract/log.js';
import type { Member } from '../member.js';
import type { Peer } from '../peer.js';
import type { MemberWatch } from '../member-watch.js';
import type { PreparedMember } from '../upstream-updates.js';
import { ZoneFull } from '../member-set.js';
import type { ServerInForce, UpstreamBlock } from '../upstream-block.js';
import { zoneShortage } from '../zone-shortage.js';
import type { ChangedLine } from './discovery-message.js';
import type { FollowedLine } from './followed-line.js';
import { foundText } from './found-address.js';
import type { LineChange } from './line-change.js';

/** A line whose members change. */
interface Place {
  readonly line: FollowedLine;
  readonly block: UpstreamBlock;
  readonly server: ServerInForce;
  readonly log: Pick<Log, 'write'>;
  readonly watch: MemberWatch | undefined;
}

/** New members of a line, ready to take effect, and removed ones. In the master. If the zone is full, some are not made. */
export class PreparedLine {
  readonly message: ChangedLine;

  private constructor(
    private readonly place: Place,
    /** Of the line, when this is active. */
    readonly members: readonly Member[],
    private readonly added: readonly PreparedMember[],
    private readonly changed: readonly PreparedMember[],
    private readonly removed: readonly Peer[],
  ) {
    const { line } = place;
    this.message = {
      block: line.block,
      line: line.id,
      added: indexes(added.map(({ peer }) => peer)),
      changed: indexes(changed.map(({ peer }) => peer)),
      removed: indexes(removed),
    };
  }

  get line(): FollowedLine {
    return this.place.line;
  }

  static make(place: Place, change: LineChange): PreparedLine {
    const { upstream } = place.block;
    // Remains of earlier changes are released first.
    upstream.reap();
    const isBusy = upstream.size > 0;
    const missing: Error[] = [];
    const attempt = (prepare: () => PreparedMember): PreparedMember[] => {
      try {
        return [prepare()];
      } catch (error) {
        if (!(error instanceof ZoneFull)) throw error;
        missing.push(error);
        return [];
      }
    };
    const added = change.added.flatMap((member) => attempt(() => upstream.updates.prepareAdd(member, true, isBusy)));
    const changed = change.changed.flatMap(([peer, member]) => attempt(() => upstream.updates.prepareChange(peer, member)));
    reportShortage(place, added.length, missing.length);
    const members = membersAfter(place.server.peers, change, added);
    return new PreparedLine(place, members, added, changed, change.removed);
  }

  /** New members take effect before those of before go: one is always there. */
  commit(): void {
    const { block, line, server } = this.place;
    const { upstream } = block;
    for (const part of [...this.added, ...this.changed]) part.commit();
    for (const { peer } of this.changed) keepRecord(peer, upstream);
    for (const peer of this.removed) upstream.updates.prepareRemove(peer).commit();
    const peers = server.peers.filter((peer) => !this.removed.includes(peer)).concat(this.added.map(({ peer }) => peer));
    block.servers.set(line.id, { ...server, peers });
  }

  /** Active in every worker. */
  committed(): void {
    const { block, watch, line } = this.place;
    const { name } = line.entry;
    const isListed = line.entry.query?.kind === 'source';
    const reason = isListed ? `listed by the source of "${name}"` : `resolved from "${name}"`;
    const gone = isListed ? `the source of "${name}" does not list it any more` : `"${name}" does not have the address any more`;
    for (const { peer } of this.added) watch?.discovered?.(peer, block.upstream, { type: 'added', reason });
    for (const peer of this.removed) watch?.discovered?.(peer, block.upstream, { type: 'removed', reason: gone });
    block.upstream.reap();
  }
}

function membersAfter(peers: readonly Peer[], { changed, removed }: LineChange, added: readonly PreparedMember[]): Member[] {
  const changes = new Map(changed);
  const gone = new Set(removed);
  const staying = peers.filter((peer) => !gone.has(peer));
  return [...staying.map((peer) => changes.get(peer) ?? peer.member), ...added.map(({ peer }) => peer.member)];
}

const indexes = (peers: readonly Peer[]): number[] => peers.map(({ member }) => member.addressIndex);

/** For the other threads. */
function keepRecord({ member, offset }: Peer, { memory, now }: UpstreamBlock['upstream']): void {
  if (member.found === undefined) return;
  memory.enter(now);
  memory.setAddress(offset, foundText(member.found));
  memory.leave();
}

function reportShortage({ line, block, log }: Place, added: number, missing: number): void {
  if (missing > 0 && !line.isFull) log.write('error', zoneShortage(block.upstream, added, missing));
  line.isFull = missing > 0;
}
