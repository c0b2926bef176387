import type { Peer } from '../peer.js';
import type { ServerEntry } from '../server-line.js';
import type { PreparedMember } from '../upstream-updates.js';
import type { UpstreamBlock } from '../upstream-block.js';
import type { ChangedLine, DiscoveryMessage } from './discovery-message.js';
import { foundRecord } from './found-records.js';

/** The members of a worker that come and go with the addresses of names. The master finds them; they are in the zone before it says so. */
export class MemberReplica {
  /** Made ready, by block, line and number. */
  readonly #prepared = new Map<string, PreparedMember>();

  /** @param blocks the current ones, by id */
  constructor(private readonly blocks: ReadonlyMap<number, UpstreamBlock>) {}

  take({ step, lines }: DiscoveryMessage): void {
    for (const line of lines) {
      const block = this.blocks.get(line.block);
      const entry = block?.names.get(line.line);
      if (block === undefined || entry === undefined) continue;
      if (step === 'prepare') this.#prepare(block, entry, line);
      else this.#commit(block, entry, line);
    }
  }

  #prepare(block: UpstreamBlock, entry: ServerEntry, line: ChangedLine): void {
    for (const index of line.added) {
      const part = addition(block, entry, index, true);
      if (part !== undefined) this.#prepared.set(nameOf(line, index), part);
    }
  }

  #commit(block: UpstreamBlock, entry: ServerEntry, line: ChangedLine): void {
    const { upstream } = block;
    const server = block.servers.get(line.line);
    if (server === undefined) return;
    const added = line.added.flatMap((index) => this.#take(block, entry, line, index) ?? []);
    for (const part of added) part.commit();
    for (const peer of among(server.peers, line.changed)) {
      const address = foundRecord(upstream.memory, entry.key, peer.member.addressIndex, false);
      if (address !== undefined) upstream.updates.prepareChange(peer, entry.memberAt(address)).commit();
    }
    const removed = new Set(among(server.peers, line.removed));
    for (const peer of removed) upstream.updates.prepareRemove(peer).commit();
    const peers = server.peers.filter((peer) => !removed.has(peer)).concat(added.map(({ peer }) => peer));
    block.servers.set(line.line, { ...server, peers });
  }

  /** One that was not made ready in time is there by now. */
  #take(block: UpstreamBlock, entry: ServerEntry, line: ChangedLine, index: number): PreparedMember | undefined {
    const name = nameOf(line, index);
    const part = this.#prepared.get(name);
    this.#prepared.delete(name);
    return part ?? addition(block, entry, index, false);
  }
}

function addition({ upstream }: UpstreamBlock, entry: ServerEntry, index: number, pending: boolean): PreparedMember | undefined {
  const address = foundRecord(upstream.memory, entry.key, index, pending);
  return address && upstream.updates.prepareAdd(entry.memberAt(address), pending);
}

function among(peers: readonly Peer[], indexes: readonly number[]): Peer[] {
  return peers.filter(({ member }) => indexes.includes(member.addressIndex));
}

const nameOf = ({ block, line }: ChangedLine, index: number): string => `${block} ${line} ${index}`;
