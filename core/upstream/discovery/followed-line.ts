import type { Peer } from '../peer.js';
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
   * @param block id of the `upstream` block
   * @param id of the line
   * @param key its lasting identity
   * @param upstream name of the upstream
   * @param target what is looked up, and how
   * @param next number of the next new address
   */
  constructor(
    readonly block: number,
    readonly id: number,
    readonly key: number,
    readonly upstream: string,
    readonly target: string,
    private next: number,
    private readonly onReply: (line: FollowedLine) => void,
  ) {}

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
