import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError } from '../config/errors.js';
import { ErrorCollector } from '../config/error-collector.js';
import type { Change, Follower, Prepared } from '../kernel/follower.js';
import type { Block } from '../module/tree.js';
import { systemErrorText } from '../config/system-error.js';
import { CheckedModule } from './site/checked-module.js';
import { HttpCompiler, type HttpConfiguration } from './site/compiler.js';
import type { HttpContext } from './request/context.js';
import type { HttpExchanges } from './upstream/exchange-route.js';
import { HttpListener } from './listen/http-listener.js';
import { listenGroups, type ListenGroup } from './listen/listen-groups.js';
import { bindProbe } from '../net/bind-probe.js';
import type { Product } from './site/settings.js';
import { makeTemporaryFolder } from './site/temporary-path.js';
import type { HttpVariables } from './site/variables.js';

/** Opening sockets is a worker's job; the master tries whether it can be done; a check (`srv -t`) only reads. */
export type EngineRole = 'master' | 'worker' | 'control' | 'check';

export interface EngineOptions {
  readonly role: EngineRole;
  /** Unix sockets can be bound by one thread only: the first worker. */
  readonly servesUnixSockets: boolean;
  readonly product: Product;
}

/** The HTTP engine of one thread: follows the `http` block of the tree, owns the listeners. */
export class HttpEngine implements Follower {
  readonly #listeners = new Map<string, HttpListener>();
  /** Not in the configuration any more, but connections are still open. */
  readonly #retired = new Set<HttpListener>();
  /** It may have sockets: a worker from {@link open} to {@link quit}, others all the time. */
  #opens: boolean;
  #modules: Change['modules'] | undefined;
  #compiler: HttpCompiler | undefined;
  #configuration: HttpConfiguration | undefined;
  #temporaryFolders = NO_FOLDERS;

  constructor(
    private readonly exchanges: HttpExchanges,
    private readonly context: HttpContext,
    private readonly options: EngineOptions,
  ) {
    this.#opens = options.role !== 'worker';
  }

  /** Addresses that are open, as `listen` names them. */
  get addresses(): string[] {
    return Array.from(this.#listeners.values(), (listener) => listener.address);
  }

  /** Folders it writes temporary files into. */
  get temporaryFolders(): ReadonlySet<string> {
    return this.#temporaryFolders;
  }

  async prepare(change: Change): Promise<Prepared> {
    const { modules, events, after } = change;
    const sameModules = modules === this.#modules;
    if (sameModules && !change.rereads && !touchesHttp(change)) return NOTHING_TO_DO;
    const compiler = sameModules && this.#compiler ? this.#compiler : this.#newCompiler(modules);
    const previous = sameModules && sameUpstreams(change) ? this.#configuration : undefined;
    const next = await this.#compile(() => compiler.compile(after.root, previous, change.rereads));
    const temporaryFolders = this.exchanges.inUse ? compiler.temporaryFolders(next) : NO_FOLDERS;
    this.#makeFolders(temporaryFolders);
    const groups = listenGroups(next.servers);
    for (const { names, options } of groups.values()) {
      for (const name of names.conflicts) change.warn(`conflicting server name "${name}" on ${options.address}, ignored`);
    }
    const opened = await this.#open(groups, modules.variables);
    return {
      commit: () => {
        this.#modules = modules;
        this.#compiler = compiler;
        this.#temporaryFolders = temporaryFolders;
        this.context.connectionLimit = events.worker_connections;
        this.#commit(next, groups, opened, modules.variables);
      },
      abort: () => {
        for (const listener of opened.values()) listener.destroy();
      },
    };
  }

  /** Opens the sockets of the configuration in force; from now on they follow it. @throws ConfigErrors with every one that cannot be opened */
  async open(): Promise<void> {
    this.#opens = true;
    if (this.#configuration === undefined || this.#modules === undefined) return;
    const opened = await this.#open(listenGroups(this.#configuration.servers), this.#modules.variables);
    for (const [key, listener] of opened) this.#listeners.set(key, listener);
  }

  /** Compiles, and waits for the names that have to be looked up. @throws ConfigErrors with what is wrong with either */
  async #compile(compile: () => HttpConfiguration): Promise<HttpConfiguration> {
    const mistakes = new ErrorCollector();
    let compiled: HttpConfiguration | undefined;
    try {
      compiled = mistakes.attempt(compile);
    } finally {
      await this.exchanges.settle(mistakes);
    }
    mistakes.throwIfAny();
    return compiled as HttpConfiguration;
  }

  /** Accepts nothing more and lets requests end. Resolves when no connection is left, or after `timeout` ms. */
  async quit(timeout: number | undefined): Promise<void> {
    this.#opens = false;
    const until = timeout === undefined ? Infinity : Date.now() + timeout;
    const closing = Promise.all([...this.#listeners.values()].map((listener) => listener.drain()));
    await Promise.race([closing, timeout === undefined ? closing : sleep(timeout)]);
    while (this.#connections() > 0 && Date.now() < until) await sleep(20);
    this.stop();
  }

  /** Closes everything at once. */
  stop(): void {
    for (const listener of this.#all()) listener.destroy();
    this.#listeners.clear();
    this.#retired.clear();
  }

  #newCompiler(modules: Change['modules']): HttpCompiler {
    const checked = Array.from(modules, (module) => new CheckedModule(module, this.context.log));
    return new HttpCompiler(checked, modules.args, this.options.product);
  }

  #connections(): number {
    let count = 0;
    for (const listener of this.#all()) count += listener.connections.size;
    return count;
  }

  #all(): readonly HttpListener[] {
    return [...this.#listeners.values(), ...this.#retired];
  }

  /** Opens what is not open yet. On failure nothing of it stays open. */
  async #open(groups: ReadonlyMap<string, ListenGroup>, variables: HttpVariables): Promise<Map<string, HttpListener>> {
    const opened = new Map<string, HttpListener>();
    const mistakes = new ErrorCollector();
    try {
      for (const [key, group] of groups) {
        if (!this.#opens || this.#listeners.has(key)) continue;
        const listener = new HttpListener(group.options, this.context, variables, group.names);
        const held = [...this.#listeners.values()].some((other) => other.address === group.options.address);
        try {
          await this.#bind(listener, held);
          opened.set(key, listener);
        } catch (error) {
          mistakes.add(bindError(listener, error as NodeJS.ErrnoException));
        }
      }
      mistakes.throwIfAny();
      return opened;
    } catch (error) {
      for (const listener of opened.values()) listener.destroy();
      throw error;
    }
  }

  /** Workers find them made; a check only reads. */
  #makeFolders(folders: Iterable<string>): void {
    const { role } = this.options;
    if (role !== 'master' && role !== 'control') return;
    const mistakes = new ErrorCollector();
    for (const folder of folders) mistakes.attempt(() => makeTemporaryFolder(folder));
    mistakes.throwIfAny();
  }

  async #bind(listener: HttpListener, held: boolean): Promise<void> {
    const { role, servesUnixSockets } = this.options;
    if (role === 'check') return;
    // SO_REUSEPORT lets a second server bind unnoticed: the master asks for the address alone first.
    if (role === 'master') {
      if (!held) await bindProbe(listener.options);
    } else if (!listener.isUnix) await listener.open(role === 'worker');
    else if (servesUnixSockets) await listener.open(false);
  }

  #commit(
    next: HttpConfiguration,
    groups: ReadonlyMap<string, ListenGroup>,
    opened: Map<string, HttpListener>,
    variables: HttpVariables,
  ): void {
    this.#configuration = next;
    for (const [key, listener] of this.#listeners) {
      const group = groups.get(key);
      if (group === undefined) {
        this.#listeners.delete(key);
        void this.#retire(listener);
        continue;
      }
      listener.serve(group.names, variables);
    }
    for (const [key, listener] of opened) {
      this.#listeners.set(key, listener);
      // It was told to end while this change was on its way.
      if (!this.#opens) void listener.drain();
    }
  }

  async #retire(listener: HttpListener): Promise<void> {
    for (const old of this.#retired) if (old.isDone) this.#retired.delete(old);
    this.#retired.add(listener);
    await listener.drain();
  }
}

const NO_FOLDERS: ReadonlySet<string> = new Set();
const NOTHING_TO_DO: Prepared = { commit: () => undefined, abort: () => undefined };

/** True if an operation is about something else than members and settings of upstreams. */
function touchesHttp({ before, after, operations }: Change): boolean {
  for (const operation of operations) {
    if (operation.op === 'root') return true;
    const path =
      operation.op === 'remove' ? before.pathOf(operation.id) : after.pathOf('id' in operation ? operation.id : operation.directive.id);
    // http / upstream / server: a member. http / upstream: the group as a whole, which locations may name.
    if (path[0]?.name === 'http' && path[1]?.name === 'upstream' && path.length > 2) continue;
    return true;
  }
  return false;
}

/** Compiled locations hold on to the groups they name: with other groups all are compiled anew. */
function sameUpstreams({ before, after }: Change): boolean {
  const old = upstreamNames(before.root);
  const now = upstreamNames(after.root);
  return old.length === now.length && old.every((name, at) => name === now[at]);
}

function upstreamNames(root: Block): string[] {
  const names: string[] = [];
  for (const http of root.named('http'))
    for (const upstream of http.block?.named('upstream') ?? []) names.push(`${upstream.id} ${upstream.args[0]?.text}`);
  return names.sort();
}

const HINTS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there: stop it, or change the port of "listen"',
  EACCES: 'ports below 1024 need root: change the port, or start as root',
  EADDRNOTAVAIL: 'this machine has no such address',
};

function bindError(listener: HttpListener, error: NodeJS.ErrnoException): Error {
  if (error.code === undefined) return error;
  return new ConfigError(`bind() to ${listener.address} failed (${systemErrorText(error)})`, undefined, 1, HINTS[error.code]);
}
