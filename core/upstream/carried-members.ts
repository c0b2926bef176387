import type { HealthFigures, HealthState } from '../contract/health.js';
import { SentAmounts, type CarriedState, type AmountChange } from '../zone/carried-state.js';
import { numberOf, wordOf } from '../zone/offsets.js';
import { NO_CHECKS } from './no-figures.js';
import { F, SlowF, W } from './layout.js';
import type { Peer } from './peer.js';
import type { Upstream } from './upstream.js';
import { upstreamKey } from './upstream-key.js';

/** State of a member without its counters. */
interface MemberData {
  readonly key: string;
  readonly numbers: readonly number[];
  readonly words: readonly number[];
  /** When its slow start began (epoch milliseconds); 0: it has none. */
  readonly started: number;
  /** Absent: it is not checked. */
  readonly health?: HealthState | undefined;
  readonly lastCheck: Pick<HealthFigures, 'lastAt' | 'lastPassed' | 'lastError'>;
}

interface MembersData {
  /** At the first time only. */
  readonly members: readonly MemberData[];
  readonly counts: readonly AmountChange[];
  /** Responses by status; the key is that of the member with the status after it. */
  readonly codes: readonly AmountChange[];
}

/** Values that are copied. */
const NUMBERS = [F.downstart, F.connectTime, F.headerTime, F.responseTime, F.selected, F.checked] as const;
const WORDS = [W.fails] as const;
/** Values that are added up. */
const COUNTS = [
  F.responses,
  F.responses + 1,
  F.responses + 2,
  F.responses + 3,
  F.responses + 4,
  F.sent,
  F.received,
  F.downtime,
  F.requests,
] as const;
const WORD_COUNTS = [W.failed, W.unavail] as const;

/** The upstreams with shared memory of one engine. */
export interface CarriedUpstreams {
  readonly engine: string;
  readonly upstreams: () => Iterable<Upstream>;
  readonly find: (name: string) => Upstream | undefined;
  /** Of a worker that does not exist, whose share of requests under way is that of the program before. */
  readonly place: number;
  readonly now: () => number;
}

/** Figures, availability and health of members, for the program that takes over. A member is the one of the same upstream, id and address. */
export class CarriedMembers implements CarriedState {
  readonly form: string;
  readonly #health = new Map<string, HealthState>();

  constructor(private readonly options: CarriedUpstreams) {
    this.form = `members of ${options.engine} 1`;
  }

  /** Health of a member in the previous program, until the configuration is active. */
  healthOf(upstream: Pick<Upstream, 'name'>, peer: Peer): HealthState | undefined {
    return this.#health.size === 0 ? undefined : this.#health.get(keyOf(upstream, peer));
  }

  give(): () => MembersData | undefined {
    const counts = new SentAmounts();
    const codes = new SentAmounts();
    let isFirst = true;
    return () => {
      const data: MembersData = {
        members: isFirst ? Array.from(this.#all(), ([upstream, peer]) => this.#dataOf(upstream, peer)) : [],
        counts: counts.changes(this.#counts()),
        codes: codes.changes(this.#codes()),
      };
      isFirst = false;
      return data.members.length + data.counts.length + data.codes.length === 0 ? undefined : data;
    };
  }

  expect(data: unknown): void {
    for (const { key, health } of (data as MembersData).members) if (health !== undefined) this.#health.set(key, health);
  }

  take(data: unknown): void {
    this.#health.clear();
    const { members, counts, codes } = data as MembersData;
    for (const member of members) this.#with(member.key, (upstream, peer, now) => restore(upstream, peer, member, now));
    for (const [key, amounts] of counts) this.#with(key, (upstream, peer, now) => this.#add(upstream, peer, amounts, now));
    for (const [key, [amount = 0]] of codes) {
      const end = key.lastIndexOf('\n');
      const status = Number(key.slice(end + 1));
      this.#with(key.slice(0, end), ({ memory }, { offset }) => memory.tally.addCode(offset, status, amount));
    }
  }

  *#all(): Generator<[Upstream, Peer]> {
    for (const upstream of this.options.upstreams()) for (const peer of upstream.peers) yield [upstream, peer];
  }

  #dataOf(upstream: Upstream, peer: Peer): MemberData {
    const { memory } = upstream;
    const { lastAt, lastPassed, lastError } = peer.checked?.figures ?? NO_CHECKS;
    const health = peer.checked?.health;
    memory.enter(this.options.now());
    const { f64, u32 } = memory.zone;
    const slow = u32[wordOf(peer.offset) + W.slow]!;
    const data: MemberData = {
      key: keyOf(upstream, peer),
      numbers: NUMBERS.map((number) => f64[numberOf(peer.offset) + number]!),
      words: WORDS.map((word) => u32[wordOf(peer.offset) + word]!),
      started: slow === 0 ? 0 : f64[numberOf(slow) + SlowF.started]!,
      health,
      lastCheck: { lastAt, lastPassed, lastError },
    };
    memory.leave();
    return data;
  }

  /** With its requests under way and its checks at the end. */
  *#counts(): Generator<AmountChange> {
    for (const [upstream, peer] of this.#all()) {
      const { memory } = upstream;
      const { checks, fails, unhealthy } = peer.checked?.figures ?? NO_CHECKS;
      memory.enter(this.options.now());
      const { f64, u32 } = memory.zone;
      const [numbers, words] = [numberOf(peer.offset), wordOf(peer.offset)];
      const amounts = [
        ...COUNTS.map((number) => f64[numbers + number]!),
        ...WORD_COUNTS.map((word) => u32[words + word]!),
        u32[words + W.active]!,
        checks,
        fails,
        unhealthy,
      ];
      memory.leave();
      if (amounts.some((amount) => amount !== 0)) yield [keyOf(upstream, peer), amounts];
    }
  }

  *#codes(): Generator<AmountChange> {
    for (const [upstream, peer] of this.#all()) {
      const { memory } = upstream;
      memory.enter(this.options.now());
      const codes = memory.tally.codes(peer.offset);
      memory.leave();
      for (const [code, count] of Object.entries(codes)) yield [`${keyOf(upstream, peer)}\n${code}`, [count]];
    }
  }

  #add({ memory }: Upstream, peer: Peer, amounts: readonly number[], now: number): void {
    const { f64, u32 } = memory.zone;
    const [numbers, words] = [numberOf(peer.offset), wordOf(peer.offset)];
    const rest = amounts.slice(COUNTS.length + WORD_COUNTS.length);
    for (const [at, number] of COUNTS.entries()) f64[numbers + number]! += amounts[at] ?? 0;
    for (const [at, word] of WORD_COUNTS.entries()) u32[words + word]! += amounts[COUNTS.length + at] ?? 0;
    const [active = 0, checks = 0, fails = 0, unhealthy = 0] = rest;
    const share = words + W.perWorker + this.options.place;
    const change = Math.max(active, -u32[share]!);
    u32[share]! += change;
    u32[words + W.active]! += change;
    if (change !== 0) memory.rotationOf(peer.offset).settle(peer.offset, now);
    if (checks !== 0 || unhealthy !== 0) peer.checked?.add({ checks, fails, unhealthy });
  }

  /** Runs a step on an existing member, with the lock held. */
  #with(key: string, work: (upstream: Upstream, peer: Peer, now: number) => void): void {
    const [name = '', id] = key.split('\n', 2);
    const upstream = this.options.find(name);
    const peer = upstream?.peer(Number(id));
    if (upstream === undefined || peer === undefined || keyOf(upstream, peer) !== key) return;
    const now = this.options.now();
    upstream.memory.enter(now);
    work(upstream, peer, now);
    upstream.memory.leave();
  }
}

const keyOf = (upstream: Pick<Upstream, 'name'>, { id, server }: Peer): string => `${upstreamKey(upstream.name)}\n${id}\n${server}`;

function restore({ memory }: Upstream, peer: Peer, { numbers, words, started, lastCheck }: MemberData, now: number): void {
  const { f64, u32 } = memory.zone;
  for (const [at, number] of NUMBERS.entries()) f64[numberOf(peer.offset) + number] = numbers[at] ?? 0;
  for (const [at, word] of WORDS.entries()) u32[wordOf(peer.offset) + word] = words[at] ?? 0;
  const rotation = memory.rotationOf(peer.offset);
  if (started !== 0) rotation.slowStart.begin(peer.offset, started);
  rotation.settle(peer.offset, now);
  if (lastCheck.lastAt !== 0) peer.checked?.add(lastCheck);
}
