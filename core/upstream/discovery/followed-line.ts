import type { Peer } from '../peer.js';
import type { ServerEntry } from '../server-line.js';
import type { NameUse } from './discovery.js';
import type { NameFollower } from './watched-name.js';

/** Numbers of addresses are part of the ids of members, which are exact up to 2^53. */
const MOST_INDEXES = 2 ** 21;

/** A `server` line in force whose name is looked up again and again. */
export class FollowedLine implements NameFollower {
  /** The addresses of its name. Set when the line is made. */
  use: NameUse | undefined = undefined;
  /** Its zone had no room for all members: it is said once. */
  isFull = false;

  /**
   * @param entry the line as it is in force
   * @param block id of the `upstream` block
   * @param upstream name of the upstream
   * @param resolver key of the resolver
   * @param next number of the next new address
   */
  constructor(
    public entry: ServerEntry,
    readonly block: number,
    readonly upstream: string,
    readonly resolver: string,
    private next: number,
    private readonly onReply: (line: FollowedLine) => void,
  ) {}

  get id(): number {
    return this.entry.directive.id;
  }

  /** Whether another line is looked up in the same way, through this resolver. */
  hasTarget({ query }: ServerEntry, resolver: string): boolean {
    const own = this.entry.query;
    return resolver === this.resolver && query?.kind === own?.kind && query?.name === own?.name && query?.port === own?.port;
  }

  replied(): void {
    this.onReply(this);
  }

  /** The number that the next new address would get. */
  get nextIndex(): number {
    return this.next;
  }

  /** A number for a new address. They are not used again, as long as there are others. */
  takeIndex(peers: readonly Peer[]): number {
    const used = new Set(peers.map(({ member }) => member.addressIndex));
    while (used.has(this.next) || this.next >= MOST_INDEXES) this.next = this.next + 1 >= MOST_INDEXES ? 1 : this.next + 1;
    return this.next++;
  }
}
