import { formatAddress, type Address } from '../contract/address.js';
import type { UpstreamPeer } from '../contract/balancer.js';
import { numberOf, wordOf } from '../zone/offsets.js';
import type { Member } from './member.js';
import type { UpstreamMemory } from './upstream-memory.js';
import type { CheckedMember } from './checked-member.js';
import type { IdleEntry } from './idle-entry.js';
import { SlowStart } from './slow-start.js';
import { F, memberId, UNIT, W } from './layout.js';

/**
 * A member of an upstream, as one thread knows it. Its figures and its place in the rotation are in the upstream's memory, at {@link offset}.
 * With another address it would be another member, so this one's never changes.
 */
export class Peer implements UpstreamPeer {
  // Read by each choice, in one line of the processor's cache.
  readonly offset: number;
  /** Not a member any more; its record stays as long as requests are on it. */
  removed = false;
  /** Requests of this thread that are on it now. */
  picked = 0;
  readonly #home: PeerHome;
  /** As configured. */
  weight: number;
  readonly id: number;
  readonly address: Address;
  /** `ip:port`, `[v6]:port`, `unix:/path`. */
  readonly server: string;
  /** Idle connections to it in this thread, the one used last first. Kept by the pool. */
  idle: IdleEntry | undefined = undefined;
  /** State of its health checker. In the master only. */
  checked: CheckedMember | undefined = undefined;

  #member: Member;

  constructor(
    member: Member,
    offset: number,
    /** Its place in the tables of every thread. */
    readonly slot: number,
    home: PeerHome,
  ) {
    this.offset = offset;
    this.#home = home;
    this.weight = member.settings.weight;
    this.#member = member;
    this.id = memberId(member.key, member.addressIndex);
    this.address = member.address;
    const text = formatAddress(member.address);
    // One string in memory where both are the same.
    this.server = text === member.name ? member.name : text;
  }

  get name(): string {
    return this.member.name;
  }

  get member(): Member {
    return this.#member;
  }

  /** It has other parameters from now on. */
  set member(member: Member) {
    this.#member = member;
    this.weight = member.settings.weight;
  }

  get route(): string {
    return this.member.settings.route;
  }

  get backup(): boolean {
    return this.member.settings.backup;
  }

  get isServing(): boolean {
    const { down, drain } = this.#member.settings;
    return !down && !drain;
  }

  get order(): number {
    return this.#word(W.order);
  }

  get effectiveWeight(): number {
    const { memory, now } = this.#home;
    const weight = this.#word(W.effective) / UNIT;
    return this.removed ? weight : weight * SlowStart.shareOf(memory.zone, this.offset, now);
  }

  get active(): number {
    return this.#word(W.active);
  }

  get connectTime(): number {
    return this.#home.memory.zone.f64[numberOf(this.offset) + F.connectTime]!;
  }

  get headerTime(): number {
    return this.#home.memory.zone.f64[numberOf(this.offset) + F.headerTime]!;
  }

  get responseTime(): number {
    return this.#home.memory.zone.f64[numberOf(this.offset) + F.responseTime]!;
  }

  /** A member of this upstream, as this thread knows it. */
  isOf(home: PeerHome): boolean {
    return this.#home === home && !this.removed;
  }

  get isUsable(): boolean {
    const { memory, now } = this.#home;
    return !this.removed && memory.rotationOf(this.offset).isUsable(this.offset, now);
  }

  spare(index: number): number {
    return this.removed ? 0 : this.#word(W.spare + spareIndex(index));
  }

  setSpare(index: number, value: number): void {
    if (!this.removed) this.#home.memory.zone.u32[wordOf(this.offset) + W.spare + spareIndex(index)] = value;
  }

  #word(word: number): number {
    return this.#home.memory.zone.u32[wordOf(this.offset) + word]!;
  }
}

/** The upstream of a peer. */
export interface PeerHome {
  readonly memory: UpstreamMemory;
  /** Epoch milliseconds. */
  readonly now: number;
}

function spareIndex(index: number): number {
  if (index !== 0 && index !== 1) throw new RangeError(`a peer has spare words 0 and 1, not ${index}`);
  return index;
}
