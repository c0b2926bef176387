import type { ExecutionContext } from 'ava';
import { ConfigErrors } from '../../core/config/errors.js';
import { parseText } from '../../core/config/parser.js';
import { exactTree } from '../../core/contract/print.js';
import { SpecRegistry } from '../../core/config/registry.js';
import { ConfigTree, IdSource, type TreeOperation } from '../../core/config/tree.js';
import { validate } from '../../core/config/validate.js';
import { effectiveTree, type Effective } from '../../core/changes/effective-tree.js';
import { ParticipantGone, type Participant } from '../../core/changes/participant.js';
import { Staging } from '../../core/changes/staging.js';
import { Store } from '../../core/changes/store.js';
import { StoreLog } from '../../core/changes/store-log.js';
import type { MasterInstance, TransactionLimits, TransactionOptions } from '../../core/changes/transaction-options.js';
import { TransactionQueue } from '../../core/changes/transactions.js';
import { flag, number, param, path, rest, size, text } from '../../core/contract/args.js';
import type { ArgContext, DirectiveSpec } from '../../core/contract/spec.js';
import type { Edit } from '../../core/contract/transactions.js';
import { directive } from '../../core/contract/spec.js';
import type { Block, Directive } from '../../core/contract/tree.js';
import { upstreamDirectives } from '../../core/toolkit/upstream.js';
import { MemoryLog } from './memory-log.js';

const first = ({ args }: Directive): string => args[0]?.text ?? '';
const names = ({ block }: Directive): string => Array.from(block?.named('server_name') ?? [], first).join(' ');

/** A small language: upstreams, locations, lists of rules. @param lacks a directive that it does not have */
export function registry({ lacks = '' } = {}): SpecRegistry {
  const registry = new SpecRegistry();
  const { [lacks]: _, ...known }: Readonly<Record<string, DirectiveSpec>> = {
    http: directive({ in: ['main'], block: 'http' }),
    ...upstreamDirectives,
    upstream: directive({ in: ['http'], args: text(), many: true, dynamic: true, block: 'upstream', identity: first }),
    state: directive({ in: ['upstream'], args: path(), holds: 'server' }),
    vhost: directive({ in: ['http'], many: true, dynamic: true, block: 'vhost', identity: names }),
    server_name: directive({ in: ['vhost'], args: rest(text()), many: true, dynamic: true }),
    location: directive({ in: ['vhost'], args: text(), many: true, dynamic: true, block: 'location', identity: first }),
    allow: directive({ in: ['location'], args: text(), many: true, dynamic: true }),
    status: directive({ in: ['location'], args: number({ min: 100, max: 999 }), dynamic: true }),
    label: directive({ in: ['location'], args: text() }),
    cache: directive({ in: ['location'], args: { name: text(), size: param('size', size(), 1024) }, many: true, dynamic: ['size'] }),
    gzip: directive({ in: ['http', 'location'], args: flag(), dynamic: true }),
  };
  registry.register('main', known);
  return registry;
}

/** A worker that keeps a tree of its own. Tests make it fail. */
export class FakeWorker implements Participant {
  readonly committed: number[] = [];
  readonly aborted: number[] = [];
  readonly published: unknown[] = [];
  suspected = false;
  leaving = false;
  #next: ConfigTree | undefined;

  constructor(
    readonly name: string,
    public tree: ConfigTree,
  ) {}

  prepare(_: number, operations: string): Promise<void> {
    this.#next = this.tree.apply(JSON.parse(operations) as TreeOperation[]);
    return Promise.resolve();
  }

  commit(tx: number): Promise<void> {
    this.committed.push(tx);
    this.tree = this.#next ?? this.tree;
    return Promise.resolve();
  }

  abort(tx: number): void {
    this.aborted.push(tx);
    this.#next = undefined;
  }

  publish(_: string, data: unknown): Promise<void> {
    this.published.push(data);
    return Promise.resolve();
  }

  suspect(): void {
    this.suspected = true;
  }

  die(): Promise<never> {
    return Promise.reject(new ParticipantGone(this.name));
  }
}

class FakeInstance implements MasterInstance {
  tree = ConfigTree.empty;
  prepares = 0;
  aborts = 0;

  constructor(readonly modules: { readonly registry: SpecRegistry; readonly args: ArgContext }) {}

  async prepare(operations: readonly TreeOperation[]): Promise<{ commit(): void; abort(): void }> {
    this.prepares++;
    const after = this.tree.apply(operations);
    const errors = validate(after.root, this.modules);
    if (errors.length > 0) throw new ConfigErrors(errors);
    await Promise.resolve();
    return { commit: () => void (this.tree = after), abort: () => this.aborts++ };
  }
}

export interface FakeMaster {
  readonly log: MemoryLog;
  readonly store: Store;
  readonly instance: FakeInstance;
  readonly transactions: TransactionQueue;
  readonly workers: FakeWorker[];
  readonly effective: Effective;
  /** What `reload` loads. */
  parse(config: string): { tree: ConfigTree; modules: FakeInstance['modules'] };
  /** The current tree as text. */
  readonly printed: () => string;
  /** The tree of a start with the same file, as text. */
  readonly restarted: () => string;
  /** The difference between a configuration and what would be active with it. */
  readonly drift: (config: string) => readonly string[];
  /** As a kill would: nothing is written any more. */
  readonly kill: () => void;
  readonly end: () => Promise<void>;
}

export interface FakeMasterOptions {
  readonly config: string;
  /** Data folder. */
  readonly folder: string;
  readonly limits?: Partial<TransactionLimits>;
  readonly workers?: number;
  readonly name?: string;
  readonly commitLog?: TransactionOptions['commitLog'];
  readonly onNode?: TransactionOptions['onNode'];
  /** The directives that it knows. */
  readonly specs?: SpecRegistry;
}

/** A master without threads and sockets: the real transactions, journal and store over a fake instance. It ends with the test. */
export async function fakeMaster(t: ExecutionContext, options: FakeMasterOptions): Promise<FakeMaster> {
  const master = await startMaster(options);
  t.teardown(() => master.end());
  return master;
}

/** The same for a process of its own. */
export async function startMaster(options: FakeMasterOptions): Promise<FakeMaster> {
  const { config, folder, limits, workers = 2, name = 'node', commitLog = new StoreLog(), specs = registry(), onNode } = options;
  const log = new MemoryLog();
  const store = Store.open(folder);
  const ids = new IdSource();
  const args: ArgContext = {
    template: (value) => ({ constant: value, of: () => value }),
    path: (value) => `${folder}/${value}`,
    parts: (value) => [value],
  };
  const instance = new FakeInstance({ registry: specs, args });
  const parse = (source: string): ReturnType<FakeMaster['parse']> => {
    const { directives, errors } = parseText(source, { ids, file: 'srv.conf' });
    const tree = ConfigTree.fromData(directives);
    const all = [...errors, ...validate(tree.root, instance.modules)];
    if (all.length > 0) throw new ConfigErrors(all);
    return { tree, modules: instance.modules };
  };
  const effective = effectiveTree(parse(config).tree, store, { ...instance.modules, ids });
  (await instance.prepare([{ op: 'root', block: effective.tree.toData() }])).commit();
  const fakes = Array.from(
    { length: workers },
    (_, i) => new FakeWorker(`worker ${i}`, ConfigTree.fromData(structuredClone(instance.tree.toData()))),
  );
  const transactions = new TransactionQueue({
    instance,
    store,
    ids,
    log,
    heapSize: () => Infinity,
    staging: new Staging(),
    commitLog,
    nodeName: () => name,
    ...(onNode && { onNode }),
    files: { conf: '', read: () => parseText(config, { ids, file: 'srv.conf' }) },
    participants: () => fakes,
    ...(limits && { limits }),
  });
  transactions.started(effective);
  const restarted = (): string => exactTree(effectiveTree(parse(config).tree, store, { ...instance.modules, ids }).tree.root);
  const drift = (source: string): readonly string[] => effectiveTree(parse(source).tree, store, { ...instance.modules, ids }).drift;
  let open = true;
  const kill = (): void => {
    if (open) store.close();
    open = false;
  };
  const end = async (): Promise<void> => {
    if (open) await transactions.close();
    kill();
  };
  return {
    log,
    store,
    instance,
    transactions,
    workers: fakes,
    effective,
    parse,
    drift,
    printed: () => exactTree(instance.tree.root),
    restarted,
    kill,
    end,
  };
}

/** The first directive with this name and first argument, anywhere. */
export function find(block: Block, name: string, argument?: string): Directive {
  const found = search(block, name, argument);
  if (found === undefined) throw new Error(`no ${name} ${argument ?? ''}`);
  return found;
}

function search(block: Block, name: string, argument: string | undefined): Directive | undefined {
  for (const directive of block) {
    if (directive.name === name && (argument === undefined || directive.args[0]?.text === argument)) return directive;
    const inside = directive.block && search(directive.block, name, argument);
    if (inside !== undefined) return inside;
  }
  return undefined;
}

/** Members of the first upstream as `address@key`, in order. */
export function members({ instance }: FakeMaster): string[] {
  return Array.from(
    find(instance.tree.root, 'upstream').block?.named('server') ?? [],
    ({ args, key }) => `${args.map((word) => word.text).join(' ')}@${key}`,
  );
}

/** Restarts the master on the same data, after a kill. */
export async function restart(t: ExecutionContext, master: FakeMaster, config: string, folder: string): Promise<FakeMaster> {
  master.kill();
  return fakeMaster(t, { config, folder });
}

export const add =
  (text: string) =>
  (root: Block): Edit[] => [{ op: 'add', parent: find(root, 'upstream'), text }];
export const replace =
  (address: string, text: string) =>
  (root: Block): Edit[] => [{ op: 'replace', target: find(root, 'server', address), text }];
export const remove =
  (address: string) =>
  (root: Block): Edit[] => [{ op: 'remove', target: find(root, 'server', address) }];
