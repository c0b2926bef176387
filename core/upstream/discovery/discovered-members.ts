import type { Tree } from '../../config/tree.js';
import type { Log } from '../../contract/log.js';
import type { Directive } from '../../contract/tree.js';
import type { Clock } from '../../net/clock.js';
import type { Member } from '../member.js';
import type { MemberSources } from '../member-sources.js';
import type { MemberWatch } from '../member-watch.js';
import type { ServerEntry } from '../server-line.js';
import type { Touched } from '../touched.js';
import type { UpstreamBlock } from '../upstream-block.js';
import type { Discovery } from './discovery.js';
import { DISCOVERY_CHANNEL, type DiscoveryMessage } from './discovery-message.js';
import type { FoundAddress, NumberedAddress } from './found-address.js';
import { AddressMemory, type AddressStore } from './kept-addresses.js';
import { FollowedLine, type LookupWay } from './followed-line.js';
import { changeOfLine, type LineChange } from './line-change.js';
import { resolverOf } from './name-query.js';
import { PreparedLine } from './prepared-line.js';
import { type FollowName, SourceUse } from './source-use.js';

/** How the master applies its results. */
export interface Crew {
  /** Calls `step` when no change of the configuration is under way, and begins none before it resolves. */
  inTurn(step: () => Promise<void>): Promise<void>;
  /** Hands data to the replica of every worker. Resolves when all have taken it; a worker that is late takes it before all that follows. */
  tell(channel: string, data: DiscoveryMessage): Promise<void>;
}

export interface DiscoveredMembersOptions {
  /** Current ones, by id. */
  readonly blocks: ReadonlyMap<number, UpstreamBlock>;
  readonly discovery: Discovery;
  readonly clock: Clock;
  readonly log: Pick<Log, 'write'>;
  readonly watch: MemberWatch | undefined;
  /** The block around the upstreams: names are the same in several. */
  readonly engine: 'http' | 'stream';
}

/**
 * Makes the addresses of names members of upstreams, in the master: follows the `server` lines with `resolve` that are active, and applies
 * changes in all workers between two transactions. Nothing of it is configuration: it lives in the zones.
 */
export class DiscoveredMembers {
  /** By the ids of block and line. */
  readonly #lines = new Map<number, Map<number, FollowedLine>>();
  /** Lines whose members are not those of their names any more. */
  readonly #changed = new Set<FollowedLine>();
  #crew: Crew | undefined;
  #sources: MemberSources | undefined;
  #isPlanned = false;
  readonly #memory: AddressMemory;

  constructor(private readonly options: DiscoveredMembersOptions) {
    this.#memory = new AddressMemory(options.log);
  }

  /** Members have the addresses of the last start until there is a reply. To be called before a configuration is prepared. */
  remember(store: AddressStore): void {
    this.#memory.open(store);
  }

  /** From now on changes take effect. */
  start(crew: Crew): void {
    this.#crew = crew;
    this.#plan();
  }

  stop(): void {
    this.#crew = undefined;
    for (const lines of this.#lines.values()) for (const line of lines.values()) this.#release(line);
    this.#lines.clear();
    this.#memory.flush();
  }

  /** The addresses that a line has already: where its upstream is made again, and those of the last start. */
  known(entry: ServerEntry, { name, directive: { id } }: UpstreamBlock): readonly NumberedAddress[] {
    const line = this.#lines.get(id)?.get(entry.directive.id);
    const before = this.options.blocks.get(id);
    if (line === undefined) {
      const kept = this.#memory.get(this.#placeOf(name), entry.key);
      return kept?.name === entry.query?.name ? (kept?.addresses ?? []) : [];
    }
    if (before?.names.get(line.id)?.query?.name !== entry.query?.name) return [];
    return numbered((before?.servers.get(line.id)?.peers ?? []).map(({ member }) => member));
  }

  /** Follows the lines that a change concerned, now that it is active. */
  follow(tree: Tree, { blocks, servers }: Touched, sources: MemberSources): void {
    this.#sources = sources;
    for (const id of blocks) this.#followBlock(tree, id);
    for (const [id, lines] of servers) this.#followLines(tree, id, lines);
  }

  /** Follows all lines: what they inherit has changed. */
  followAll(tree: Tree, sources: MemberSources): void {
    this.#sources = sources;
    for (const id of new Set([...this.options.blocks.keys(), ...this.#lines.keys()])) this.#followBlock(tree, id);
  }

  #followBlock(tree: Tree, id: number): void {
    const before = this.#lines.get(id)?.keys() ?? [];
    const now = this.options.blocks.get(id)?.names.keys() ?? [];
    this.#followLines(tree, id, new Set([...before, ...now]));
  }

  /** @param ids of the lines that may have come, changed or gone */
  #followLines(tree: Tree, id: number, ids: ReadonlySet<number>): void {
    const block = this.options.blocks.get(id);
    const directive = tree.byId(id);
    const lines = this.#lines.get(id) ?? new Map<number, FollowedLine>();
    // Most upstreams have no names.
    if (lines.size === 0 && (block === undefined || block.names.size === 0)) return;
    for (const lineId of ids) {
      const entry = block?.names.get(lineId);
      const way = entry && directive && this.#wayOf(entry, directive, tree.parentOf(id));
      const known = lines.get(lineId);
      if (block === undefined || way === undefined || entry === undefined) this.#end(lines, lineId);
      else if (known?.hasTarget(entry, way) !== true) lines.set(lineId, this.#begin(block, entry, way, known));
      else if (known.entry !== entry) {
        known.entry = entry;
        this.#look(known);
      }
    }
    if (lines.size === 0) this.#lines.delete(id);
    else this.#lines.set(id, lines);
  }

  /** Undefined: there is none, which is an error of the configuration. */
  #wayOf({ query }: ServerEntry, upstream: Directive, around: Directive | undefined): LookupWay | undefined {
    if (query === undefined) return undefined;
    const { discovery, log } = this.options;
    const choice = resolverOf(upstream, around);
    if (query.kind !== 'source') {
      const use = (line: FollowedLine) => ({ use: discovery.use(query, choice!, line), begin: () => undefined });
      return choice && { key: choice.key, owner: undefined, use };
    }
    const source = this.#sources?.of(upstream, query.name);
    const followName: FollowName = (name, port, follower) => {
      if (choice !== undefined) return discovery.use({ kind: 'addresses', name, port }, choice, follower);
      throw new RangeError(`"${name}:${port}" needs a "resolver" in the upstream, or around it`);
    };
    const use = (line: FollowedLine) => {
      const followed = new SourceUse(source!, line, followName, log);
      return { use: followed, begin: () => followed.follow() };
    };
    // Another resolver looks the names of the list up again.
    return source && { key: `${source.key} ${choice?.key ?? ''}`, owner: source.owner, use };
  }

  /** The line is not active any more. */
  #end(lines: Map<number, FollowedLine>, id: number): void {
    const line = lines.get(id);
    if (line === undefined) return;
    lines.delete(id);
    this.#release(line);
    this.#memory.set(this.#placeOf(line.upstream), line.entry.key, undefined);
  }

  /** @param before the line of before, with another name or resolver */
  #begin(block: UpstreamBlock, entry: ServerEntry, way: LookupWay, before: FollowedLine | undefined): FollowedLine {
    const next = before?.nextIndex ?? this.#memory.get(this.#placeOf(block.name), entry.key)?.next ?? 1;
    const line = new FollowedLine(entry, block.directive.id, block.name, way, next, (replied) => this.#look(replied));
    const { use, begin } = way.use(line);
    line.use = use;
    begin();
    // After the new use of the resolver: one that is still used is not closed.
    if (before !== undefined) this.#release(before);
    this.#look(line);
    return line;
  }

  #release(line: FollowedLine): void {
    this.#changed.delete(line);
    line.use?.release();
  }

  #look(line: FollowedLine): void {
    if (this.#changeOf(line, () => 0) === undefined) return;
    this.#changed.add(line);
    this.#plan();
  }

  /** Change of the members of a line. Undefined: none, or its addresses are not known. */
  #changeOf({ block, id, entry, use }: FollowedLine, nextIndex: () => number): LineChange | undefined {
    const server = this.options.blocks.get(block)?.servers.get(id);
    const addresses = use?.addresses;
    const isUnknown = (found: FoundAddress): boolean => use?.isUnknown(found) === true;
    return server && addresses && changeOfLine(entry, server.peers, addresses, isUnknown, nextIndex);
  }

  #plan(): void {
    const crew = this.#crew;
    if (this.#isPlanned || crew === undefined || this.#changed.size === 0) return;
    this.#isPlanned = true;
    crew
      .inTurn(() => {
        this.#isPlanned = false;
        return this.#bringIntoForce(crew);
      })
      .catch((error: unknown) => {
        this.#isPlanned = false;
        // A server that ends has no turns any more.
        if (this.#crew !== undefined) this.options.log.write('error', `members could not be updated: ${String(error)}`);
      });
  }

  async #bringIntoForce(crew: Crew): Promise<void> {
    this.options.clock.refresh();
    const changed = [...this.#changed];
    this.#changed.clear();
    const prepared = changed.flatMap((line) => this.#prepare(line) ?? []);
    if (prepared.length === 0) return;
    const lines = prepared.map(({ message }) => message);
    for (const line of prepared) this.#keep(line);
    this.#memory.settle();
    if (lines.some(({ added }) => added.length > 0)) await crew.tell(DISCOVERY_CHANNEL, { step: 'prepare', lines });
    for (const line of prepared) line.commit();
    await crew.tell(DISCOVERY_CHANNEL, { step: 'commit', lines });
    for (const line of prepared) line.committed();
  }

  #keep({ line: { entry, upstream, nextIndex: next }, members }: PreparedLine): void {
    const { key, query } = entry;
    if (query !== undefined) this.#memory.set(this.#placeOf(upstream), key, { name: query.name, next, addresses: numbered(members) });
  }

  #placeOf(upstream: string): string {
    return `${this.options.engine} ${upstream}`;
  }

  #prepare(line: FollowedLine): PreparedLine | undefined {
    const block = this.options.blocks.get(line.block);
    const server = block?.servers.get(line.id);
    if (block === undefined || server === undefined) return undefined;
    const change = this.#changeOf(line, () => line.takeIndex(server.peers));
    return change && PreparedLine.make({ ...this.options, line, block, server }, change);
  }
}

function numbered(members: readonly Member[]): NumberedAddress[] {
  return members.flatMap(({ addressIndex, found }) => (found === undefined ? [] : { index: addressIndex, found }));
}
