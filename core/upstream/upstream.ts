import type { HttpRequest } from '../contract/http.js';
import type { StreamSession } from '../contract/stream.js';
import { Attempts } from './attempts.js';
import type { ClaimableUpstream } from './balanced-members.js';
import { Choice } from './choice.js';
import { Choosers, UpstreamUpdates } from './upstream-updates.js';
import { MemberSet } from './member-set.js';
import type { UpstreamMemory } from './upstream-memory.js';
import { KeepalivePool } from './keepalive.js';
import { F, Flag, W } from './layout.js';
import { MemberChecks } from './member-checks.js';
import { MemberStates } from './member-states.js';
import type { Peer, PeerHome } from './peer.js';
import type { RequestQueue, QueuedUpstream } from './request-queue.js';
import { nextPeer } from './round-robin.js';
import type { UpstreamOptions } from './upstream-options.js';
import { wordOf } from '../zone/offsets.js';

/** How long a request that began under an older configuration may choose members of an upstream that is not in the newer one. Milliseconds. */
const GRACE = 60_000;

/**
 * An upstream in one thread: chooses members and keeps account of what becomes of the requests.
 *
 * For each {@link pick} there is exactly one {@link free}; in between {@link answered} when the head of a response arrived, and
 * {@link finished} when the exchange is over.
 */
export class Upstream implements ClaimableUpstream, PeerHome, QueuedUpstream {
  readonly keepalive: KeepalivePool;
  /** Undefined: this thread checks no members. */
  readonly checks: MemberChecks | undefined;
  readonly updates: UpstreamUpdates;
  readonly #states: MemberStates;
  readonly #members: MemberSet;
  /** By {@link Peer.slot}. */
  readonly #slots: readonly (Peer | undefined)[];
  readonly #choosers = new Choosers();
  readonly #attempts: Attempts;
  #lastPick = Infinity;

  constructor(
    readonly name: string,
    readonly memory: UpstreamMemory,
    private readonly options: UpstreamOptions,
  ) {
    this.keepalive = new KeepalivePool(options.keepalive, memory, options.worker, options.clock, options.timers);
    this.#attempts = new Attempts(memory, options.worker);
    this.#members = new MemberSet(name, this, options.owner);
    this.#slots = this.#members.slots;
    this.checks = this.#isMaster()
      ? new MemberChecks(this, (...failure) => options.onCheckerError?.(...failure), options.earlierHealth)
      : undefined;
    this.#states = new MemberStates(this, options.watch, this.#isMaster());
    const { keepalive, checks } = this;
    const parts = { members: this.#members, choosers: this.#choosers, states: this.#states, keepalive, checks };
    this.updates = new UpstreamUpdates(this, parts, options);
  }

  /** True if this thread changes the upstream's memory. */
  get owned(): boolean {
    return this.options.owner;
  }

  /** Current members. */
  get size(): number {
    return this.#members.current.size;
  }

  /** Members that one request may try: current ones that are not `down` (as nginx counts its tries). */
  get tries(): number {
    return this.#members.current.size - this.#members.down;
  }

  /** Current members, in the order of their addition. */
  get peers(): Iterable<Peer> {
    return this.#members.current.values();
  }

  /** @param id see {@link Peer.id} */
  peer(id: number): Peer | undefined {
    return this.#members.current.get(id);
  }

  peerAt(record: number): Peer | undefined {
    const peer = this.#slots[this.memory.zone.u32[wordOf(record) + W.slot]!];
    return peer?.offset === record ? peer : undefined;
  }

  get now(): number {
    return this.options.clock.now;
  }

  /** State for choosing members for a request; undefined: not needed before one of them has failed. */
  choiceFor(request: HttpRequest): Choice | undefined {
    return this.#choosesBySubject() ? new Choice(request) : undefined;
  }

  /** As {@link choiceFor}. */
  choiceForSession(session: StreamSession): Choice | undefined {
    return this.#choosesBySubject() ? new Choice(undefined, session) : undefined;
  }

  #choosesBySubject(): boolean {
    return this.#choosers.balancer !== undefined || this.#choosers.bindings !== undefined;
  }

  /** Where requests wait for which no member can be chosen. Undefined: they do not. */
  get queue(): RequestQueue | undefined {
    const { worker } = this.options;
    return this.#choosers.queue?.settings === undefined || worker >= this.memory.workers ? undefined : this.#choosers.queue;
  }

  /** Chooses a member, which has one more request then. Undefined: none may be chosen. */
  pick(choice?: Choice): Peer | undefined {
    // Those in the queue came first.
    return this.#choosers.queue?.isBusy === true ? undefined : this.pickNow(choice);
  }

  pickNow(choice: Choice | undefined): Peer | undefined {
    if (this.now > this.#lastPick) return undefined;
    const bound = choice && this.#choosers.bindings?.find(choice);
    if (bound === undefined) return this.#balanced(choice);
    if (bound.backup) return this.#pickBackup(bound, choice);
    return this.claimBound(bound) ? bound : this.#balanced(choice);
  }

  #balanced(choice: Choice | undefined): Peer | undefined {
    return this.#choosers.balancer === undefined ? this.#next(choice) : this.#choosers.balancer.pick(choice ?? new Choice(undefined));
  }

  /** Clients that are bound to a backup member get it where others would get one: when no primary is left. */
  #pickBackup(bound: Peer, choice: Choice | undefined): Peer | undefined {
    const chosen = this.#balanced(choice);
    if (chosen?.backup === false || chosen === bound || !this.claimBound(bound)) return chosen;
    if (chosen !== undefined) this.unclaim(chosen);
    return bound;
  }

  claimNext(choice: Choice): Peer | undefined {
    return this.#next(choice);
  }

  claim(peer: Peer): boolean {
    return this.#claim(peer, Flag.IDLE);
  }

  /** As {@link claim}; a draining member may have one more. */
  claimBound(peer: Peer): boolean {
    return this.#claim(peer, Flag.IDLE & ~Flag.DRAIN);
  }

  /** @param idle flags of which none may be set */
  #claim(peer: Peer, idle: number): boolean {
    const { memory, now } = this;
    memory.enter(now);
    const rotation = memory.rotationOf(peer.offset);
    const usable = peer.isOf(this) && rotation.isUsable(peer.offset, now, idle);
    if (usable) {
      rotation.beginTrial(peer.offset, now);
      this.#attempts.begin(peer.offset, now);
      peer.picked++;
    }
    memory.leave();
    return usable;
  }

  unclaim(peer: Peer): void {
    peer.picked--;
    this.memory.locked(this.now, (now) => this.#attempts.cancel(peer.offset, now));
    this.#choosers.queue?.serve();
  }

  /** The member works: a session with it may go on for long. */
  succeeded(peer: Peer): void {
    const { memory } = this;
    if (peer.picked === 0) return;
    memory.enter(this.now);
    this.#attempts.succeed(peer.offset, this.now);
    memory.leave();
    if (memory.tally.turned?.length) this.#states.tellTurned('a session succeeded');
  }

  onBalancerError(module: string, error: unknown): void {
    this.options.onBalancerError?.(module, error, this);
  }

  /** The request on this member was sent once more, over another connection. */
  repeated(peer: Peer): void {
    if (peer.picked === 0) return;
    this.memory.enter(this.options.clock.now);
    this.#attempts.repeat(peer.offset);
    this.memory.leave();
  }

  /**
   * The request on this member has ended.
   * @param failed the attempt counts as failed (max_fails)
   * @param reason why it failed, for people
   */
  free(peer: Peer, failed: boolean, reason = ''): void {
    const { memory } = this;
    const { now } = this.options.clock;
    peer.picked--;
    memory.enter(now);
    const disabled = this.#attempts.end(peer.offset, failed, now);
    memory.leave();
    if (disabled) this.options.onUnavailable(peer, this);
    if (memory.tally.turned?.length) this.#states.tellTurned(failed ? reason : 'a request succeeded');
    this.#choosers.queue?.serve();
  }

  /** The head of a response arrived. @param headerMs since the request to the member began */
  answered(peer: Peer, status: number, headerMs: number): void {
    if (peer.picked === 0) return;
    this.memory.enter(this.options.clock.now);
    this.memory.tally.answered(peer.offset, status, headerMs);
    this.memory.leave();
  }

  /** A session has come so far. @param average which of the times it is @param ms since the attempt began */
  timed(peer: Peer, average: F.connectTime | F.headerTime, ms: number): void {
    if (peer.picked === 0) return;
    this.memory.enter(this.options.clock.now);
    this.memory.tally.timed(peer.offset, average, ms);
    this.memory.leave();
  }

  /** The response of this member goes to the client: its header is not sent yet. */
  responded(request: HttpRequest, peer: Peer): void {
    this.#choosers.bindings?.responded(request, peer);
  }

  /** The response of this member has arrived to its end. */
  completed(request: HttpRequest, peer: Peer): void {
    this.#choosers.bindings?.completed(request, peer);
  }

  /** The exchange is over, before {@link free}. @param responseMs since it began; -1: there was no complete response */
  finished(peer: Peer, sent: number, received: number, responseMs: number): void {
    if (peer.picked === 0) return;
    this.memory.enter(this.options.clock.now);
    this.memory.tally.finished(peer.offset, sent, received, responseMs);
    this.memory.leave();
  }

  /** The addresses that the owner found for a name: the members of key `key`. */
  addressesOf(key: number, pending: boolean): readonly string[] {
    return this.memory.locked(this.now, () => {
      const found: string[] = [];
      for (;;) {
        const record = this.memory.table.find(key, found.length, pending);
        const address = record === 0 ? undefined : this.memory.addressOf(record);
        if (address === undefined) return found;
        found.push(address);
      }
    });
  }

  /**
   * Sets the health of a member from now on, in all threads. Its requests go on. By the owner.
   * @param flag {@link Flag.UNHEALTHY}, {@link Flag.CHECKING}, 0: it may get requests @param reason undefined: it is not published
   */
  turnHealth(peer: Peer, flag: number, reason: string | undefined): void {
    this.#states.around(peer, reason, () => this.memory.locked(this.now, (now) => this.memory.turnHealth(peer.offset, flag, now)));
  }

  /** Subtracts what a worker had under way when it died. By the owner. */
  dropWorker(worker: number): void {
    this.memory.locked(this.now, (now) => this.memory.dropWorker(worker, now));
  }

  /** Removed: requests that use it already may still choose members for a while. */
  retire(): void {
    this.#lastPick = this.options.clock.now + GRACE;
    this.keepalive.close();
    this.checks?.stop();
    if (this.#isMaster()) for (const peer of this.peers) this.options.watch?.removed(peer, this);
  }

  /** Gives the memory of a retired upstream back. False if a request may still need it. By the owner. @param name it was made under */
  destroy(name: string): boolean {
    return this.options.clock.now > this.#lastPick + GRACE && this.discard(name);
  }

  /** Releases the memory of an upstream that was never active. */
  discard(name: string): boolean {
    this.checks?.stop();
    return this.memory.locked(this.now, () => this.memory.destroy(name));
  }

  /**
   * Frees what earlier changes left behind, before a change is prepared: all workers have the earlier ones by then.
   * @returns true if nothing is left that this thread could free later
   */
  reap(): boolean {
    return !this.options.owner || this.memory.locked(this.now, () => this.memory.reap());
  }

  /** Carries no traffic, and makes the changes that all threads see. */
  #isMaster(): boolean {
    return this.options.worker < 0;
  }

  #next(choice: Choice | undefined): Peer | undefined {
    const { memory, now } = this;
    memory.enter(now);
    const peer = nextPeer(this, now, choice?.tried);
    if (peer !== undefined) {
      peer.picked++;
      this.#attempts.begin(peer.offset, now);
    }
    memory.leave();
    return peer;
  }
}
