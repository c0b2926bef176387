import {
  LogConflict,
  type CommitLog,
  type LogEntry,
  type LogNode,
  type LogVersion,
  type NewEntry,
  type Snapshot,
} from '../../core/changes/commit-log.js';
import { ApiError } from '../../core/contract/control.js';

/** A log that orders the changes of several nodes in one process. Entries are JSON, as they would be on their way through a network. */
export class SharedLog<Content, State> {
  epoch = 1;
  #entries: LogEntry<string>[] = [];
  #snapshot: Snapshot<string> | undefined;
  readonly #nodes = new Set<LogNode<State>>();

  /** Number of the last entry. */
  get last(): number {
    return this.#entries.at(-1)?.number ?? this.#snapshot?.version.number ?? 0;
  }

  get entries(): readonly LogEntry<Content>[] {
    return this.#entries.map(read<Content>);
  }

  /** The first node gives the log its first snapshot. */
  add(node: LogNode<State>): void {
    if (this.#snapshot === undefined) this.#keep(node.snapshot());
    this.#nodes.add(node);
  }

  drop(node: LogNode<State>): void {
    this.#nodes.delete(node);
  }

  append(entries: readonly NewEntry<Content>[], { epoch, number }: LogVersion): readonly number[] {
    if (epoch !== this.epoch || number !== this.last) throw new LogConflict();
    const numbers = entries.map((_, at) => number + at + 1);
    for (const [place, { node, at, content }] of entries.entries())
      this.#entries.push({ number: numbers[place] ?? 0, node, at, content: JSON.stringify(content()) });
    for (const node of this.#nodes) queueMicrotask(() => node.appended());
    return numbers;
  }

  after({ epoch, number }: LogVersion): readonly LogEntry<Content>[] | undefined {
    const first = this.#entries[0]?.number ?? this.last + 1;
    if (epoch !== this.epoch || number < first - 1) return undefined;
    return this.#entries.slice(number - first + 1).map(read<Content>);
  }

  snapshot(): Snapshot<State> | undefined {
    return this.#snapshot && { ...this.#snapshot, state: JSON.parse(this.#snapshot.state) as State };
  }

  /** Forgets entries that a node has applied. False: none can tell what they come to. */
  trim(): boolean {
    const snapshots = [...this.#nodes].map((node) => node.snapshot()).filter((snapshot) => snapshot?.version.epoch === this.epoch);
    const latest = snapshots.toSorted((a, b) => (a?.version.number ?? 0) - (b?.version.number ?? 0)).at(-1);
    if (latest === undefined) return false;
    this.#entries = this.#entries.filter(({ number }) => number > latest.version.number);
    this.#keep(latest);
    return true;
  }

  /** It has lost everything, and begins another epoch with the state of a node. */
  beginAgain({ state, version }: Snapshot<State>): void {
    this.epoch++;
    this.#entries = [];
    this.#keep({ state, version });
    for (const node of this.#nodes) node.appended();
  }

  #keep(snapshot: Snapshot<State> | undefined): void {
    if (snapshot === undefined) return;
    const { number } = snapshot.version;
    this.#snapshot = { version: { epoch: this.epoch, number }, state: JSON.stringify(snapshot.state) };
  }
}

const read = <Content>(entry: LogEntry<string>): LogEntry<Content> => ({ ...entry, content: JSON.parse(entry.content) as Content });

/** The log as one node has it: it may be cut off, and what it says takes time. */
export class NodeLog<Content, State> implements CommitLog<Content, State> {
  readonly isShared = true;
  isConnected = true;
  #node: LogNode<State> | undefined;

  /** @param delay of each call, in turns of the microtask queue */
  constructor(
    private readonly log: SharedLog<Content, State>,
    private readonly delay: () => number = () => 0,
  ) {}

  async append(
    entries: readonly NewEntry<Content>[],
    base: LogVersion,
    keep: (numbers: readonly number[]) => void,
  ): Promise<readonly number[]> {
    await this.#travel();
    const numbers = this.log.append(entries, base);
    await this.#turns();
    keep(numbers);
    return numbers;
  }

  async entries(after: LogVersion): Promise<readonly LogEntry<Content>[] | undefined> {
    await this.#travel();
    return this.log.after(after);
  }

  refresh(): void {
    // It always has all entries.
  }

  async snapshot(): Promise<Snapshot<State> | undefined> {
    await this.#travel();
    return this.log.snapshot();
  }

  follow(node: LogNode<State>): () => void {
    const heard: LogNode<State> = { appended: () => this.isConnected && node.appended(), snapshot: () => node.snapshot() };
    this.#node = node;
    this.log.add(heard);
    return () => this.log.drop(heard);
  }

  connect(isConnected: boolean): void {
    this.isConnected = isConnected;
    this.#node?.appended();
  }

  async #travel(): Promise<void> {
    await this.#turns();
    if (!this.isConnected) throw new ApiError(503, 'StoreUnavailable', 'the log is not there');
  }

  async #turns(): Promise<void> {
    for (let left = this.delay(); left > 0; left--) await Promise.resolve();
  }
}
