import { networkInterfaces } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { differences } from '../changes/file-digests.js';
import type { LogVersion } from '../changes/commit-log.js';
import type { NodeStatus } from '../changes/log-follower.js';
import { forgetNode, hasApplied, publishNode, type KnownNode, type KnownNodes, type NodeRecord } from '../changes/node-records.js';
import type { ChangeSequence } from '../changes/change-sequence.js';
import {
  Cluster,
  notClustered,
  type ClusterNode,
  type ClusterOutcome,
  type ClusterPairs,
  type ClusterRedis,
  type ClusterView,
  type NodeResponses,
} from '../contract/cluster.js';
import type { Log } from '../contract/log.js';
import { RedisFailure, type RedisConnection } from '../contract/redis.js';
import { NodeQuestions } from './node-questions.js';
import { redisFacts } from './redis-facts.js';

/** How often a node says that it is alive, and how soon that it has applied a change. Milliseconds. */
const BEAT_MS = 1000;
const SOON_MS = 2;
/** How often a node looks whether the others have applied a change that a caller waits for. Milliseconds. */
const LOOK_MS = 20;
/** Longest wait for a snapshot of another node, and for the last record of a node that ends. Milliseconds. */
const SNAPSHOT_MS = 5000;
const LEAVE_MS = 200;

/** Configuration of this node, as the cluster needs it. */
export interface OwnConfiguration {
  readonly node: NodeStatus;
  /** Version that all workers have. */
  readonly inForce: LogVersion;
  /** Takes over a snapshot, if there is one. */
  resync(): Promise<void>;
}

export interface NodeClusterOptions {
  readonly clusterName: () => string;
  readonly nodeName: () => string;
  /** Version of srv. */
  readonly srv: string;
  readonly log: Log;
  readonly configuration: () => OwnConfiguration;
  /** Undefined: the pairs are those of this node alone. */
  readonly pairs: () => ClusterPairs | undefined;
}

/** Parts of a cluster with one configuration. */
interface Shared {
  readonly changes: ChangeSequence;
  readonly connection: RedisConnection;
  /** See {@link NodeRecord.id}. */
  readonly id: number;
}

/** The cluster, as this node sees it: it says of itself what the others show, and reads what they say. */
export class NodeCluster extends Cluster {
  #shared: Shared | undefined;
  #files: Readonly<Record<string, string>> = {};
  #known: KnownNodes | undefined;
  readonly #questions: NodeQuestions;
  #beat: NodeJS.Timeout | undefined;
  #soon: NodeJS.Timeout | undefined;
  #wasInSync = false;
  #isShadowed = false;
  /** Names of the records that were reported last. */
  #ignored = '';
  /** Why records cannot be written or read. */
  #problem = '';
  #state: { readonly state: NodeStatus['state']; readonly since: number } = { state: 'in_sync', since: Date.now() };

  constructor(private readonly options: NodeClusterOptions) {
    super();
    this.#questions = new NodeQuestions(options.nodeName);
  }

  get isShared(): boolean {
    return this.#shared !== undefined;
  }

  /** @param files see {@link NodeRecord.files} */
  useFiles(files: Readonly<Record<string, string>>): void {
    this.#files = files;
    this.changed();
  }

  /** The configuration is that of several nodes from now on. */
  join(shared: Shared): void {
    this.#shared = shared;
    // The connection reports what fails.
    shared.changes.listen((question) => void this.#questions.tell(shared.connection, question).catch(() => undefined));
    this.#beat = setInterval(() => void this.#publish(), BEAT_MS).unref();
  }

  /** This node has applied a change, or is in another state. */
  changed(): void {
    if (this.#shared === undefined) return;
    const { state } = this.options.configuration().node;
    if (state === 'in_sync') this.#wasInSync = true;
    if (state !== this.#state.state) this.#state = { state, since: Date.now() };
    this.#soon ??= setTimeout(() => void this.#publish(), SOON_MS).unref();
  }

  /** The server ends. @param isReplaced another program goes on as this node */
  async leave(isReplaced: boolean): Promise<void> {
    clearInterval(this.#beat);
    clearTimeout(this.#soon);
    const shared = this.#shared;
    this.#shared = undefined;
    if (shared === undefined || isReplaced || shared.connection.status.state === 'away') return;
    const forgotten = forgetNode(shared.connection, this.options.nodeName()).catch(() => undefined);
    await Promise.race([forgotten, delay(LEAVE_MS, undefined, { ref: false })]);
  }

  async view(): Promise<ClusterView> {
    const { clusterName, nodeName } = this.options;
    const shared = this.#shared;
    const known = await this.#publish();
    const own = { ...this.#record(shared?.id ?? 0), name: nodeName(), isAlive: true };
    const others = (known ?? this.#known)?.nodes.filter(({ name }) => name !== own.name) ?? [];
    const all = [own, ...others.map((node) => (known === undefined ? { ...node, isAlive: false } : node))];
    const head = { epoch: known?.epoch ?? own.epoch, version: Math.max(known?.version ?? 0, own.version) };
    const nodes = await Promise.all(all.map((node) => this.#shown(node, head, known !== undefined || shared === undefined)));
    const redis: ClusterRedis | undefined = shared && (await redisFacts(shared.connection));
    return {
      name: clusterName(),
      node: own.name,
      version: head.version,
      nodes: nodes.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      redis,
    };
  }

  async ask(topic: string, params: unknown): Promise<NodeResponses> {
    const shared = this.#shared;
    const name = this.options.nodeName();
    const own = [name, { value: this.#questions.own(topic, params) }] as const;
    const known = await this.#publish();
    if (shared === undefined || known === undefined) return new Map([own]);
    const others = known.nodes.filter((node) => node.isAlive && node.name !== name).map((node) => node.name);
    const responses = await this.#questions.ask(shared.connection, topic, params, others).catch(() => new Map());
    return new Map([own, ...responses].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  respond(topic: string, responder: (params: unknown) => unknown): void {
    this.#questions.respond(topic, responder);
  }

  async resync(): Promise<number> {
    const shared = this.#shared;
    if (shared === undefined) throw notClustered();
    const { configuration } = this.options;
    const { version, entry = version.number } = configuration().node;
    // Without a node that has it the last snapshot counts; without Redis the resync says so.
    await shared.changes.wantSnapshot(entry, SNAPSHOT_MS).catch(() => false);
    await configuration().resync();
    return configuration().node.version.number;
  }

  async outcome(version: number, ms: number): Promise<ClusterOutcome | undefined> {
    if (this.#shared === undefined) return undefined;
    const { epoch } = this.options.configuration().node.version;
    const { nodeName } = this.options;
    for (const end = Date.now() + ms; ; await delay(LOOK_MS)) {
      const alive = (await this.#publish())?.nodes.filter(({ isAlive }) => isAlive) ?? [];
      const states = alive.map((node) => [node.name, stateAt(node, { epoch, version })] as const);
      const isOver = alive.length > 0 && states.every(([, state]) => state !== 'pending');
      if (isOver || Date.now() >= end) return { version, nodes: { [nodeName()]: 'applied', ...Object.fromEntries(states) } };
    }
  }

  #record(id: number): NodeRecord {
    const { srv, configuration } = this.options;
    const { node, inForce } = configuration();
    const { state, entry, reason } = node;
    const { since } = this.#state;
    const isStale = this.isShared && !this.#wasInSync && state !== 'in_sync';
    const { epoch, number: version } = inForce;
    return {
      id,
      address: ownAddress(),
      srv,
      epoch,
      version,
      state,
      since,
      entry,
      reason,
      isStale,
      files: this.#files,
      pairs: this.options.pairs(),
    };
  }

  /** @returns undefined: Redis is away, or there is none */
  async #publish(): Promise<KnownNodes | undefined> {
    clearTimeout(this.#soon);
    this.#soon = undefined;
    const shared = this.#shared;
    if (shared === undefined || shared.connection.status.state === 'away') return undefined;
    const { nodeName, log } = this.options;
    try {
      const known = await publishNode(shared.connection, nodeName(), this.#record(shared.id));
      this.#known = known;
      if (known.isShadowed && !this.#isShadowed)
        log.write('error', `another node of the cluster has the name "${nodeName()}": set "node_name", a different one on each node`);
      this.#isShadowed = known.isShadowed;
      this.#reportIgnored(known.ignored, shared.connection);
      this.#problem = '';
      return known;
    } catch (error) {
      // The connection reports why it is away.
      if (error instanceof RedisFailure && error.kind === 'rejected') this.#report(error.message, shared.connection);
      return undefined;
    }
  }

  #report(problem: string, { name }: RedisConnection): void {
    if (problem !== this.#problem) this.options.log.write('error', `redis "${name}": records of the nodes cannot be written: ${problem}`);
    this.#problem = problem;
  }

  #reportIgnored(names: readonly string[], { keys }: RedisConnection): void {
    const ignored = names
      .toSorted()
      .map((name) => JSON.stringify(name))
      .join(', ');
    if (ignored !== '' && ignored !== this.#ignored)
      this.options.log.write(
        'warn',
        `ignored records of the cluster, which are not those of a node: ${ignored}; remove them with "HDEL ${keys}nodes NAME"`,
      );
    this.#ignored = ignored;
  }

  /** @param isKnown the order of changes can be read */
  async #shown(node: KnownNode, head: Pick<NodeRecord, 'epoch' | 'version'>, isKnown: boolean): Promise<ClusterNode> {
    const { name, address, srv, version, since, entry, reason, isStale, isAlive, pairs } = node;
    const state = isAlive ? node.state : 'away';
    const isLast = hasApplied(node, head);
    const lag = isLast && isKnown ? 0 : isKnown ? await this.#lag(node) : undefined;
    return { name, address, srv, version, state, since, lag, entry, reason, isStale, drift: differences(this.#files, node.files), pairs };
  }

  async #lag({ version, since }: KnownNode): Promise<number | undefined> {
    const at = (await this.#shared?.changes.timeOf(version + 1).catch(() => undefined)) ?? since;
    return Math.max(0, Math.round((Date.now() - at) / 100) / 10);
  }
}

function stateAt(node: KnownNode, wanted: Pick<NodeRecord, 'epoch' | 'version'>): 'applied' | 'pending' | 'diverged' {
  if (hasApplied(node, wanted)) return 'applied';
  return node.state === 'diverged' ? 'diverged' : 'pending';
}

/** The first address of this machine that others may reach. */
function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.filter(({ internal }) => !internal));
  return (all.find(({ family }) => family === 'IPv4') ?? all[0])?.address ?? '127.0.0.1';
}
