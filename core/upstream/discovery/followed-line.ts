import type { Peer } from '../peer.js';
import type { ServerEntry } from '../server-line.js';
import type { NameUse } from './discovery.js';
import type { NameFollower } from './watched-name.js';

/** Numbers of addresses are part of the ids of members, which are exact up to 2^53. */
const MOST_INDEXES = 2 ** 21;

/** How the addresses of a line are found: through a resolver, or by a module. Ways with the same key and owner are the same. */
export interface LookupWay {
  readonly key: string;
  readonly owner: object | undefined;
  /** Follows the addresses, from when the line has them as its {@link FollowedLine.use}. */
  use(line: FollowedLine): { readonly use: NameUse; readonly begin: () => void };
}

/** A current `server` line whose name is looked up repeatedly. */
export class FollowedLine implements NameFollower {
  /** The addresses of its name. Set when the line is made. */
  use: NameUse | undefined = undefined;
  /** Its zone had no room for all members: it is said once. */
  isFull = false;

  /**
   * @param entry the line as it is active
   * @param block id of the `upstream` block
   * @param upstream name of the upstream
   * @param way how it is looked up
   * @param next number of the next new address
   */
  constructor(
    public entry: ServerEntry,
    readonly block: number,
    readonly upstream: string,
    readonly way: LookupWay,
    private next: number,
    private readonly onReply: (line: FollowedLine) => void,
  ) {}

  get id(): number {
    return this.entry.directive.id;
  }

  /** True if another line is looked up in the same way. */
  hasTarget({ query }: ServerEntry, { key, owner }: LookupWay): boolean {
    const own = this.entry.query;
    return (
      key === this.way.key &&
      owner === this.way.owner &&
      query?.kind === own?.kind &&
      query?.name === own?.name &&
      query?.port === own?.port
    );
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
