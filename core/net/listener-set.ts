import type { GracefulEnd } from '../config/change.js';
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises';
import { ErrorCollector } from '../config/error-collector.js';
import { LayeredMap } from '../config/layered-map.js';
import { systemErrorText } from '../contract/system-error.js';
import { bindCheck, bindProbe } from './bind-probe.js';
import { bindWhenLeft, LEAVING_MS } from './left-address.js';
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
import { ELSEWHERE, socketRequest, type SocketReservations, type SocketSource } from './socket-source.js';

/**
 * Opening sockets is a worker's job; the master tries whether it can be done; a check (`srv -t`) only reads; to explain requests (`srv explain`)
 * the addresses do not matter.
 */
export type EngineRole = 'master' | 'worker' | 'control' | 'check' | 'explain';

/** Role of a thread for listeners. */
export interface ListenerRole {
  readonly role: EngineRole;
  /** Unix sockets can be bound by one thread only: the first worker. */
  readonly servesUnixSockets: boolean;
  /** Called before a socket is opened, which waits for it. */
  readonly announce?: (options: ListenOptions) => Promise<void>;
  /** A process of root binds the sockets: what this one may do says nothing. */
  readonly isRootsMatter?: boolean;
  /** Absent: it binds its sockets itself. */
  readonly sockets?: SocketSource | undefined;
  /** Absent: only the listeners hold the addresses. */
  readonly reservations?: SocketReservations | undefined;
}

/** A traffic engine at one address. */
export interface EngineListener extends Partial<ConnectionTaker> {
  readonly options: ListenOptions;
  readonly isUnix: boolean;
  /** It is closed, and so is every connection. */
  readonly isDone: boolean;
  readonly connections: { readonly size: number };
  /**
   * @param shared every worker has a socket of its own on this address
   * @param descriptor of a socket that is bound there
   */
  open(shared: boolean, descriptor?: number): Promise<void>;
  /** Number of the open socket; undefined: it is not open. */
  readonly descriptor: number | undefined;
  /** Its handle in Node.js. */
  readonly handle?: unknown;
  /** Another program listens on the same unix socket: its file stays. */
  leaveFile?(): void;
  /** Another program is about to read from the same socket for datagrams: sessions get sockets of their own. */
  moveFlows?(): void;
  /**
   * Accepts no more. Resolves when the socket is closed and the engine knows every connection that it had accepted.
   * @param waitsForIdle see {@link GracefulEnd}
   */
  drain(waitsForIdle?: boolean): Promise<void>;
  /** Closes the connections that have been at work since before `time` (epoch milliseconds). Returns how many. */
  cutOff(time: number): number;
  /** Ends everything at once. */
  destroy(): void;
}

/** Requests of an engine that no connection brings. */
export interface ApartWork {
  /** Number of them under way. */
  readonly size: number;
  /** No connection is left: what is under way ends, and nothing else begins. */
  close(): void;
  /** Ends the requests that began before `time` (epoch milliseconds). Returns how many. */
  cutOff(time: number): number;
}

/** The servers of an engine after a change. */
interface ServersAfter<S> {
  /** All in the order of the configuration, where they were all looked at. */
  readonly all: readonly S[] | undefined;
  /** Otherwise the new state of the servers that the change concerns. */
  readonly changes: readonly ServerChange<S>[];
}

/** Longest time that sockets which are closed may take to say so, and how often one looks whether connections are left. Milliseconds. */
const CUT_OFF_MS = 1000;
const QUIT_POLL = 20;

/**
 * The listeners of one traffic engine in one thread. They follow its configuration in two steps: opened while it is prepared, in use when
 * it takes effect.
 */
export class ListenerSet<S extends ListeningServer, L extends EngineListener> {
  readonly #listeners = new Map<string, L>();
  /** Not in the configuration any more, but connections are still open. */
  readonly #retired = new Set<L>();
  /** It may have sockets: a worker from {@link openAll} to {@link quit}, others all the time. */
  #opens: boolean;
  #groups: ListenGroups<S> = LayeredMap.of([]);
  /** Addresses of UDP that were this server's. Sessions still use them, and no other program could have taken them unnoticed. */
  readonly #former = new Set<string>();
  /** Addresses that this server has left: workers may still empty the queues of their sockets there. */
  readonly #left = new Set<string>();

  /** @param apart work that an end waits for beside that of connections */
  constructor(
    private readonly options: ListenerRole,
    private readonly apart?: ApartWork,
  ) {
    this.#opens = options.role !== 'worker' && options.role !== 'explain';
  }

  /** The current servers by address. */
  get groups(): ListenGroups<S> {
    return this.#groups;
  }

  /** Addresses that are open. */
  get listens(): ListenOptions[] {
    return Array.from(this.#listeners.values(), ({ options }) => options);
  }

  /** The current listener at an address. */
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

  /** Open sockets by key, which another program may take over. */
  get descriptors(): (readonly [key: string, descriptor: number])[] {
    return Array.from(this.#listeners, ([key, { descriptor }]) => [key, descriptor] as const).filter(isOpen);
  }

  /** As {@link descriptors}, for a process that gets them sent. */
  get handles(): { readonly key: string; readonly handle: unknown }[] {
    return Array.from(this.#listeners, ([key, { handle }]) => ({ key, handle })).filter(
      ({ handle }) => handle !== undefined && handle !== null,
    );
  }

  /** Another program listens on the same sockets. */
  leaveFiles(): void {
    for (const listener of this.#all()) listener.leaveFile?.();
  }

  /** Another program is about to listen on the same sockets. */
  moveFlows(): void {
    for (const listener of this.#all()) listener.moveFlows?.();
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
          await this.#bind(listener, group.key, before !== undefined && this.#listeners.has(before.key));
          opened.set(group.key, listener);
        } catch (error) {
          errors.add(bindError(listener, error as NodeJS.ErrnoException));
        }
      }
      errors.throwIfAny();
      return opened;
    } catch (error) {
      this.abandon(opened);
      throw error;
    }
  }

  /** Closes the listeners that {@link open} has opened: they do not take effect. */
  abandon(opened: ReadonlyMap<string, L>): void {
    for (const [key, listener] of opened) {
      this.#release(key);
      listener.destroy();
    }
  }

  /** Opens the sockets of the current configuration; from now on they follow it. @throws ConfigErrors with every one that cannot be opened */
  async openAll(make: (group: ListenGroup<S>) => L): Promise<void> {
    this.#opens = true;
    const addresses = new Set(Array.from(this.#groups, ([address]) => address));
    for (const [key, listener] of await this.open({ groups: this.#groups, addresses }, make)) this.#listeners.set(key, listener);
  }

  /**
   * The change has taken effect. @param opened by {@link open} @param use gives a listener that stays the new servers of its address
   */
  commit({ groups, addresses }: ChangedGroups<S>, opened: ReadonlyMap<string, L>, use: (listener: L, group: ListenGroup<S>) => void): void {
    for (const address of addresses) {
      const [before, after] = [this.#groups.get(address), groups.get(address)];
      const old = before && this.#listeners.get(before.key);
      if (old !== undefined && before?.key !== after?.key) {
        const key = before?.key ?? '';
        this.#listeners.delete(key);
        // First, so that nothing waits in a queue without a reader.
        this.#release(key);
        if (old.options.udp) this.#former.add(address);
        this.#left.add(old.options.address);
        void this.#retire(old);
      }
      const staying = after && this.#listeners.get(after.key);
      if (after !== undefined && staying !== undefined) use(staying, after);
    }
    this.#groups = groups;
    for (const [key, listener] of opened) {
      this.#listeners.set(key, listener);
      // It had to end while this change was prepared.
      if (!this.#opens) void listener.drain();
    }
  }

  /** Ends what has been under way since before `time` (epoch milliseconds). Returns how much. */
  cutOff(time: number): number {
    let count = this.apart?.cutOff(time) ?? 0;
    for (const listener of this.#all()) count += listener.cutOff(time);
    return count;
  }

  /** Accepts nothing more and lets connections and other work end. Resolves when nothing is left, or when the time is over. */
  async quit({ timeoutMs, waitsForIdle }: GracefulEnd): Promise<void> {
    this.#opens = false;
    const until = timeoutMs === undefined ? Infinity : Date.now() + timeoutMs;
    const closing = Promise.all([...this.#listeners.values()].map((listener) => listener.drain(waitsForIdle)));
    await Promise.race([closing, timeoutMs === undefined ? closing : sleep(timeoutMs)]);
    while (this.#connections() > 0 && Date.now() < until) await sleep(QUIT_POLL);
    this.apart?.close();
    while (this.#underWay() > 0 && Date.now() < until) await sleep(QUIT_POLL);
    await this.#cutOffAll();
  }

  /** Closes everything at once. */
  stop(): void {
    for (const listener of this.#all()) listener.destroy();
    this.apart?.cutOff(Infinity);
    this.#listeners.clear();
    this.#retired.clear();
  }

  /** Closes what is open, and waits until what its connections have in hand is released and logged. */
  async #cutOffAll(): Promise<void> {
    for (const listener of this.#all()) listener.destroy();
    this.apart?.cutOff(Infinity);
    const until = Date.now() + CUT_OFF_MS;
    while (this.#underWay() > 0 && Date.now() < until) await immediate();
  }

  /** Connections, and work that no connection brings. */
  #underWay(): number {
    return this.#connections() + (this.apart?.size ?? 0);
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
  async #bind(listener: L, key: string, held: boolean): Promise<void> {
    const { role, servesUnixSockets, reservations, announce } = this.options;
    await announce?.(listener.options);
    if (role === 'check') {
      if (!held) await bindCheck(listener.options, this.options.isRootsMatter);
      return;
    }
    // SO_REUSEPORT lets a second server bind unnoticed: the master asks for the address alone first.
    if (role === 'master') {
      await this.#whenLeft(listener.options.address, async () => {
        const isBound = await reservations?.reserve(socketRequest(listener.options, key, !listener.isUnix));
        if (isBound !== true && !held) await bindProbe(listener.options, this.#former.has(listener.options.address));
      });
    } else if (!listener.isUnix) await this.#openSocket(listener, key, role === 'worker');
    else if (servesUnixSockets) {
      // The address was not checked for the process of the control plane: a killed one leaves its file.
      if (role === 'control' && !held && this.options.sockets === undefined) await bindProbe(listener.options);
      await this.#openSocket(listener, key, false);
    }
  }

  async #whenLeft(address: string, bind: () => Promise<void>): Promise<void> {
    const until = Date.now() + LEAVING_MS;
    await bindWhenLeft(bind, () => this.#left.has(address) && Date.now() < until);
    this.#left.delete(address);
  }

  #release(key: string): void {
    const { reservations, sockets } = this.options;
    (reservations ?? sockets)?.release?.(key);
  }

  async #openSocket(listener: L, key: string, shared: boolean): Promise<void> {
    const socket = await this.options.sockets?.open(socketRequest(listener.options, key, shared));
    if (socket !== ELSEWHERE) await listener.open(shared, socket);
  }

  async #retire(listener: L): Promise<void> {
    for (const old of this.#retired) if (old.isDone) this.#retired.delete(old);
    this.#retired.add(listener);
    await listener.drain();
  }
}

function isOpen(entry: readonly [string, number | undefined]): entry is readonly [string, number] {
  return entry[1] !== undefined;
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
