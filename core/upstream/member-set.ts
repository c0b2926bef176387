import { formatAddress } from '../contract/address.js';
import { wordOf } from '../zone/offsets.js';
import { foundText } from './discovery/found-address.js';
import { W } from './layout.js';
import type { Member } from './member.js';
import { Peer, type PeerHome } from './peer.js';

/** The zone of an upstream has no room for a member. */
export class ZoneFull extends Error {}

/** The members of an upstream in one thread, with the slots of their records. */
export class MemberSet {
  /** Current ones by {@link Peer.id}, in the order of their addition. */
  readonly current = new Map<number, Peer>();
  /** By {@link Peer.slot}, with those of a change that is prepared. */
  readonly slots: (Peer | undefined)[] = [];
  /** Current members that are `down`. */
  down = 0;
  readonly #freeSlots: number[] = [];

  constructor(
    private readonly name: string,
    private readonly home: PeerHome,
    private readonly isOwner: boolean,
  ) {}

  /** A member that is not current yet. @throws ZoneFull */
  prepare(member: Member, pending: boolean): Peer {
    const peer = this.isOwner ? this.#allocate(member) : this.#attach(member, pending);
    this.slots[peer.slot] = peer;
    return peer;
  }

  /** Gives up a member that was prepared. */
  discard(peer: Peer): void {
    const { memory, now } = this.home;
    if (this.slots[peer.slot] === peer) this.slots[peer.slot] = undefined;
    if (!this.isOwner) return;
    memory.locked(now, () => memory.discard(peer.offset));
    this.#freeSlots.push(peer.slot);
  }

  add(peer: Peer): void {
    this.current.set(peer.id, peer);
    if (peer.member.settings.down) this.down++;
  }

  change(peer: Peer, member: Member): void {
    this.down += Number(member.settings.down) - Number(peer.member.settings.down);
    peer.member = member;
  }

  remove(peer: Peer): void {
    peer.removed = true;
    if (this.isOwner) this.#freeSlots.push(peer.slot);
    if (this.current.get(peer.id) !== peer) return;
    this.current.delete(peer.id);
    if (peer.member.settings.down) this.down--;
  }

  #allocate(member: Member): Peer {
    const { memory, now } = this.home;
    const slot = this.#freeSlots.pop() ?? this.slots.length;
    const record = memory.locked(now, () => memory.add(member.key, member.addressIndex, slot, member.settings, textFor(member)));
    if (record === 0) {
      this.#freeSlots.push(slot);
      throw new ZoneFull();
    }
    return new Peer(member, record, slot, this.home);
  }

  #attach(member: Member, pending: boolean): Peer {
    const { memory, now } = this.home;
    const record = memory.locked(now, () => memory.table.find(member.key, member.addressIndex, pending));
    if (record === 0) throw new Error(`member ${member.name} of upstream "${this.name}" is not in its zone`);
    return new Peer(member, record, memory.zone.u32[wordOf(record) + W.slot]!, this.home);
  }
}

/** A name is resolved once for all threads. */
function textFor({ found, resolved, address }: Member): string | undefined {
  if (found !== undefined) return foundText(found);
  return resolved ? formatAddress(address) : undefined;
}
