import type { ExplainedMember, ExplainedUpstream } from '../contract/explain.js';
import type { HttpRequest } from '../contract/http.js';
import type { Clock } from '../net/clock.js';
import { ModuleBalancer, type ChosenMethod } from './balancer.js';
import type { ClaimableUpstream } from './balanced-members.js';
import { Choice } from './choice.js';
import type { Peer } from './peer.js';
import type { Upstream } from './upstream.js';
import { viewOf } from './upstream-snapshot.js';

/** Members of an upstream for an explanation. */
export type UpstreamPreview = Pick<ExplainedUpstream, 'balancing' | 'members' | 'more' | 'member'>;

/** Members that are listed. */
const LISTED = 100;
/** Members up to which a balancer is made to be asked: it takes a look at all of them. */
const ASKED = 1000;

/** The members of an upstream that a request could get, and the one it would where that is certain. Claims none and changes nothing. */
export function previewOf(upstream: Upstream, method: ChosenMethod | undefined, request: HttpRequest, clock: Clock): UpstreamPreview {
  const now = clock.refresh();
  const members: ExplainedMember[] = [];
  let usable = 0;
  let last: Peer | undefined;
  const isBackupTurn = Array.from(upstream.peers).every((peer) => peer.backup || !peer.isUsable);
  for (const peer of upstream.peers) {
    const isUsable = peer.isUsable && peer.backup === isBackupTurn;
    if (isUsable) {
      usable++;
      last = peer;
    }
    if (members.length < LISTED) members.push(memberOf(peer, isUsable, upstream, now));
  }
  const certain = usable === 1 ? last : chosenBy(upstream, method, request);
  return {
    balancing: balancingOf(method),
    members,
    more: upstream.size - members.length,
    ...(certain && { member: nameOf(certain) }),
  };
}

function balancingOf(method: ChosenMethod | undefined): string {
  const words = method?.lines.map(({ name, args }) => [name, ...args.map(({ text }) => text)].join(' '));
  return words?.at(-1) ?? 'round robin';
}

function memberOf(peer: Peer, usable: boolean, upstream: Upstream, now: number): ExplainedMember {
  const { state, active, weight, backup } = viewOf(peer, upstream, now);
  return { server: nameOf(peer), state, weight, backup, active, usable };
}

/** An address as the configuration writes it where there are several of one name. */
function nameOf({ member, server }: Peer): string {
  return member.resolved ? member.name : server;
}

function chosenBy(upstream: Upstream, method: ChosenMethod | undefined, request: HttpRequest): Peer | undefined {
  if (method?.byRequest !== true || upstream.size > ASKED) return undefined;
  const balancer = new ModuleBalancer(new Unclaimed(upstream), method);
  for (const peer of upstream.peers) balancer.added(peer);
  return balancer.pick(new Choice(request));
}

/** An upstream whose members are looked at and not claimed. */
class Unclaimed implements ClaimableUpstream {
  constructor(private readonly upstream: Upstream) {}

  get name(): string {
    return this.upstream.name;
  }
  get size(): number {
    return this.upstream.size;
  }
  get peers(): Iterable<Peer> {
    return this.upstream.peers;
  }

  claim(peer: Peer): boolean {
    return peer.isUsable;
  }

  unclaim(): void {}

  /** The next one in turn is known when its turn has come. */
  claimNext(): undefined {
    return undefined;
  }

  /** It will say so when traffic asks it. */
  onBalancerError(): void {}
}
