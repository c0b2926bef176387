import type { SocketAddress } from './addresses.js';
import { setKeepAliveProbes } from './keep-alive-probes.js';
import { Ready, type EpollLoop } from './loop.js';

/** A socket that is open: its number, its addresses, and the events that are reported of it. */
export class WatchedSocket {
  /** Below 0: it is closed, or has another owner. */
  protected number: number;
  #remote: SocketAddress | undefined;
  /** Reported events; `None`: nothing at all. */
  #watched: number;
  #closeListeners: (() => void)[] | undefined = undefined;

  /** @param descriptor not watched yet @param events that are reported at first */
  constructor(
    protected readonly loop: EpollLoop,
    descriptor: number,
    remote: SocketAddress | undefined,
    events: number,
  ) {
    this.number = descriptor;
    this.#remote = remote;
    this.#watched = events;
    loop.open.add(descriptor);
  }

  get descriptor(): number | undefined {
    return this.number < 0 ? undefined : this.number;
  }
  get remoteAddress(): string | undefined {
    return this.#peer?.address;
  }
  get remotePort(): number | undefined {
    return this.#peer?.port;
  }
  get localAddress(): string | undefined {
    return this.#local?.address;
  }
  get localPort(): number | undefined {
    return this.#local?.port;
  }

  setKeepAlive(on: boolean, idle = 0, interval = 0, count = 0): void {
    if (this.number < 0 || this.#local?.address === undefined) return;
    setKeepAliveProbes(this.loop.calls, this.number, on ? { idle, interval, count } : undefined);
  }

  once(_: 'close', listener: () => void): void {
    (this.#closeListeners ??= []).push(listener);
  }

  protected get closeListeners(): readonly (() => void)[] {
    return this.#closeListeners ?? [];
  }

  /** Has these events reported, from now on; without any the system would go on to report errors. */
  protected watch(events: number): void {
    const before = this.#watched;
    if (events === before || this.number < 0) return;
    this.#watched = events;
    if (events === Ready.None) this.loop.rest(this.number);
    else if (before === Ready.None) this.loop.goOn(this.number, events);
    else this.loop.change(this.number, events);
  }

  protected get isWaitingForRoom(): boolean {
    return (this.#watched & Ready.Write) !== 0;
  }

  /** It is another owner's from now on. @returns its number */
  protected giveAway(): number {
    const { number, loop } = this;
    loop.remove(number, false);
    loop.open.delete(number);
    this.number = -1;
    return number;
  }

  protected close(): void {
    if (this.number < 0) return;
    const { open, calls } = this.loop;
    this.loop.remove(this.number, true);
    open.delete(this.number);
    calls.close(this.number);
    this.number = -1;
  }

  get #peer(): SocketAddress | undefined {
    if (this.#remote === undefined && this.number >= 0) this.#remote = this.loop.calls.peerAddress(this.number);
    return this.#remote;
  }

  get #local(): SocketAddress | undefined {
    return this.number < 0 ? undefined : this.loop.calls.localAddress(this.number);
  }
}
