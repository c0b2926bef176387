import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises';
import { ErrorCollector } from '../config/error-collector.js';
import { LayeredMap } from '../config/layered-map.js';
import { systemErrorText } from '../module/system-error.js';
import { bindCheck, bindProbe } from './bind-probe.js';
import { ListenError } from './listen-error.js';
import type { ConnectionTaker } from './listener-directory.js';
import {
  changedGroups,
  listenGroups,
  type ChangedGroups,
  type ListenGroup,
  type ListenGroups,
  type ListeningServer,
  type ServerChange,
} from './listen-groups.js';
import type { ListenOptions } from './listen-options.js';

/**
 * Opening sockets is a worker's job; the master tries whether it can be done; a check (`srv -t`) only reads; to explain requests (`srv explain`)
 * the addresses do not matter.
 */
export type EngineRole = 'master' | 'worker' | 'control' | 'check' | 'explain';

/** What a thread does with listeners. */
export interface ListenerRole {
  readonly role: EngineRole;
  /** Unix sockets can be bound by one thread only: the first worker. */
  readonly servesUnixSockets: boolean;
}

/** A traffic engine at one address. */
export interface EngineListener extends Partial<ConnectionTaker> {
  readonly options: ListenOptions;
  readonly isUnix: boolean;
  /** It is closed, and so is every connection. */
  readonly isDone: boolean;
  readonly connections: { readonly size: number };
  /** @param shared every worker has a socket of its own on this address */
  open(shared: boolean): Promise<void>;
  /** Accepts no more. Resolves when the socket is closed and the engine knows every connection that it had accepted. */
  drain(): Promise<void>;
  /** Closes the connections that have been at work since before `time` (epoch milliseconds). */
  cutOff(time: number): void;
  /** Ends everything at once. */
  destroy(): void;
}

/** What the servers of an engine are after a change. */
interface ServersAfter<S> {
  /** All in the order of the configuration, where they were all looked at. */
  readonly all: readonly S[] | undefined;
  /** Otherwise what became of those that the change concerns. */
  readonly changes: readonly ServerChange<S>[];
}

/** Longest time that sockets which are closed may take to say so, and how often one looks whether connections are left. Milliseconds. */
const CUT_OFF_MS = 1000;
const QUIT_POLL = 20;

/** The listeners of one traffic engine in one thread. They follow its configuration in two steps: opened while it is prepared, in use when it is in force. */
export class ListenerSet<S extends ListeningServer, L extends EngineListener> {
  readonly #listeners = new Map<string, L>();
  /** Not in the configuration any more, but connections are still open. */
  readonly #retired = new Set<L>();
  /** It may have sockets: a worker from {@link openAll} to {@link quit}, others all the time. */
  #opens: boolean;
  #groups: ListenGroups<S> = LayeredMap.of([]);
  /** Addresses of UDP that were this server's. Sessions still use them, and no other program could have taken them unnoticed. */
  readonly #former = new Set<string>();

  constructor(private readonly options: ListenerRole) {
    this.#opens = options.role !== 'worker' && options.role !== 'explain';
  }

  /** The servers in force by address. */
  get groups(): ListenGroups<S> {
    return this.#groups;
  }

  /** Addresses that are open, as `listen` names them. */
  get addresses(): string[] {
    return Array.from(this.#listeners.values(), ({ options }) => options.address);
  }

  /** The listener in force at an address. */
  at(address: string): L | undefined {
    const group = this.#groups.get(address);
    return group && this.#listeners.get(group.key);
  }

  /**
   * The addresses after a change.
   * @param placeOf the place of a server in the configuration, asked when one comes
   * @throws ConfigErrors in nginx's wording
   */
  after({ all, changes }: ServersAfter<S>, placeOf: (server: S) => number): ChangedGroups<S> {
    if (all === undefined) return changedGroups(this.#groups, changes, placeOf);
    const groups = listenGroups(all);
    return { groups, addresses: new Set([...this.#groups, ...groups].map(([address]) => address)) };
  }

  warnOfConflicts({ groups, addresses }: ChangedGroups<S>, warn: (message: string) => void): void {
    for (const address of addresses) {
      const names = groups.get(address)?.names;
      if (names !== this.#groups.get(address)?.names)
        for (const name of names?.conflicts ?? []) warn(`conflicting server name "${name}" on ${address}, ignored`);
    }
  }

  /** Opens what is not open yet. On failure nothing of it stays open. @throws ConfigErrors with every address that cannot be opened */
  async open({ groups, addresses }: ChangedGroups<S>, make: (group: ListenGroup<S>) => L): Promise<Map<string, L>> {
    const opened = new Map<string, L>();
    const errors = new ErrorCollector();
    try {
      for (const address of addresses) {
        const group = groups.get(address);
        if (!this.#opens || group === undefined || this.#listeners.has(group.key)) continue;
        const listener = make(group);
        const before = this.#groups.get(address);
        try {
          await this.#bind(listener, before !== undefined && this.#listeners.has(before.key));
          opened.set(group.key, listener);
        } catch (error) {
          errors.add(bindError(listener, error as NodeJS.ErrnoException));
        }
      }
      errors.throwIfAny();
      return opened;
    } catch (error) {
      for (const listener of opened.values()) listener.destroy();
      throw error;
    }
  }

  /** Opens the sockets of the configuration in force; from now on they follow it. @throws ConfigErrors with every one that cannot be opened */
  async openAll(make: (group: ListenGroup<S>) => L): Promise<void> {
    this.#opens = true;
    const addresses = new Set(Array.from(this.#groups, ([address]) => address));
    for (const [key, listener] of await this.open({ groups: this.#groups, addresses }, make)) this.#listeners.set(key, listener);
  }

  /**
   * The change is in force.
   * @param opened by {@link open}
   * @param use gives a listener that stays what is behind its address now
   */
  commit({ groups, addresses }: ChangedGroups<S>, opened: ReadonlyMap<string, L>, use: (listener: L, group: ListenGroup<S>) => void): void {
    for (const address of addresses) {
      const [before, after] = [this.#groups.get(address), groups.get(address)];
      const old = before && this.#listeners.get(before.key);
      if (old !== undefined && before?.key !== after?.key) {
        this.#listeners.delete(before?.key ?? '');
        if (old.options.udp) this.#former.add(address);
        void this.#retire(old);
      }
      const staying = after && this.#listeners.get(after.key);
      if (after !== undefined && staying !== undefined) use(staying, after);
    }
    this.#groups = groups;
    for (const [key, listener] of opened) {
      this.#listeners.set(key, listener);
      // It was told to end while this change was on its way.
      if (!this.#opens) void listener.drain();
    }
  }

  cutOff(time: number): void {
    for (const listener of this.#all()) listener.cutOff(time);
  }

  /** Accepts nothing more and lets connections end. Resolves when none is left, or after `timeout` ms. */
  async quit(timeout: number | undefined): Promise<void> {
    this.#opens = false;
    const until = timeout === undefined ? Infinity : Date.now() + timeout;
    const closing = Promise.all([...this.#listeners.values()].map((listener) => listener.drain()));
    await Promise.race([closing, timeout === undefined ? closing : sleep(timeout)]);
    while (this.#connections() > 0 && Date.now() < until) await sleep(QUIT_POLL);
    await this.#cutOffAll();
  }

  /** Closes everything at once. */
  stop(): void {
    for (const listener of this.#all()) listener.destroy();
    this.#listeners.clear();
    this.#retired.clear();
  }

  /** Closes what is open, and waits until what its connections have in hand is released and logged. */
  async #cutOffAll(): Promise<void> {
    for (const listener of this.#all()) listener.destroy();
    const until = Date.now() + CUT_OFF_MS;
    while (this.#connections() > 0 && Date.now() < until) await immediate();
  }

  #connections(): number {
    let count = 0;
    for (const listener of this.#all()) count += listener.connections.size;
    return count;
  }

  #all(): readonly L[] {
    return [...this.#listeners.values(), ...this.#retired];
  }

  /** @param held the same address is open already, in another form */
  async #bind(listener: L, held: boolean): Promise<void> {
    const { role, servesUnixSockets } = this.options;
    if (role === 'check') {
      if (!held) await bindCheck(listener.options);
      return;
    }
    // SO_REUSEPORT lets a second server bind unnoticed: the master asks for the address alone first.
    if (role === 'master') {
      if (!held) await bindProbe(listener.options, this.#former.has(listener.options.address));
    } else if (!listener.isUnix) await listener.open(role === 'worker');
    else if (servesUnixSockets) {
      // Nobody has looked at the address for the process of the control plane: a killed one leaves its file.
      if (role === 'control' && !held) await bindProbe(listener.options);
      await listener.open(false);
    }
  }

  async #retire(listener: L): Promise<void> {
    for (const old of this.#retired) if (old.isDone) this.#retired.delete(old);
    this.#retired.add(listener);
    await listener.drain();
  }
}

const HINTS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there: stop it, or change the port of "listen"',
  EACCES: 'ports below 1024 need root: change the port, or start as root',
  EADDRNOTAVAIL: 'this machine has no such address',
};

function bindError({ options }: EngineListener, error: NodeJS.ErrnoException): Error {
  if (error.code === undefined) return error;
  return new ListenError(`bind() to ${options.address} failed (${systemErrorText(error)})`, undefined, 1, HINTS[error.code]);
}
