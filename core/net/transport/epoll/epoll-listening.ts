import type { ListenPlace, ListeningSocket, ListeningUser, ListenTuning } from '../listening.js';
import { adoptBound, bindTcp, bindUnix, type ListeningHandle } from '../node/listen-at.js';
import { callError, SocketOption, TcpOption } from './calls.js';
import { Errno } from './errno.js';
import { Level } from './levels.js';
import { EpollConnection } from './epoll-connection.js';
import { Ready, type EpollLoop, type DescriptorOwner } from './loop.js';

/** Most connections that are accepted at once: then open ones have their turn. */
const MOST = 64;
/** How long nothing is accepted when there are no descriptors, in milliseconds (as nginx). */
const REST = 500;

/** A socket that listens. It is bound by Node.js, so that it can be sent to another process; here it listens and accepts. */
export class EpollListening implements ListeningSocket, DescriptorOwner {
  /** Nothing of it is read ahead. */
  readonly ahead = undefined;
  #isOpen = true;
  #isDeferred = false;
  #timer: NodeJS.Timeout | undefined = undefined;

  private constructor(
    private readonly loop: EpollLoop,
    private readonly place: ListenPlace,
    private readonly user: ListeningUser,
    readonly handle: ListeningHandle,
  ) {}

  /** @throws Error of the system */
  static open(loop: EpollLoop, place: ListenPlace, user: ListeningUser): EpollListening {
    const { path, descriptor, shared, backlog } = place;
    const handle = descriptor === undefined ? (path === undefined ? bindTcp(place, shared) : bindUnix(path)) : adoptBound(descriptor);
    const socket = new EpollListening(loop, place, user, handle);
    // Connections have these from their listening socket; buffers decide on the window of TCP, which is agreed on when they begin.
    if (place.tuning !== undefined) socket.tune(place.tuning);
    if (path === undefined) loop.calls.setOption(handle.fd, Level.Tcp, TcpOption.NoDelay, 1);
    const error = Math.min(loop.calls.listen(handle.fd, backlog), 0) || Math.min(loop.add(handle.fd, socket, Ready.Read), 0);
    if (error === 0) {
      loop.spare.hold();
      return socket;
    }
    handle.close();
    throw callError(error, 'listen');
  }

  get descriptor(): number | undefined {
    return this.#isOpen ? this.handle.fd : undefined;
  }

  limitQueue(backlog: number): void {
    if (this.#isOpen) this.loop.calls.listen(this.handle.fd, backlog);
  }

  tune({ receiveBuffer, sendBuffer, deferred, fastOpen }: ListenTuning): void {
    if (!this.#isOpen) return;
    this.#setOption(Level.Socket, SocketOption.ReceiveBuffer, receiveBuffer);
    this.#setOption(Level.Socket, SocketOption.SendBuffer, sendBuffer);
    if (this.place.path !== undefined) return;
    if (deferred || this.#isDeferred) this.#setOption(Level.Tcp, TcpOption.DeferAccept, deferred ? 1 : 0);
    this.#isDeferred = deferred;
    this.#setOption(Level.Tcp, TcpOption.FastOpen, fastOpen);
  }

  #setOption(level: Level, option: number, value: number | undefined): void {
    if (value !== undefined) this.loop.calls.setOption(this.handle.fd, level, option, value);
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    clearTimeout(this.#timer);
    // Others may have the same socket: its events would go on.
    this.loop.remove(this.handle.fd, false);
    this.handle.close();
  }

  onReady(): void {
    for (let count = 0; count < MOST && this.#isOpen; count++) {
      const { calls } = this.loop;
      const descriptor = calls.accept(this.handle.fd);
      if (descriptor >= 0) this.#accepted(descriptor);
      else if (descriptor !== -Errno.Aborted && descriptor !== -Errno.Interrupted) {
        if (descriptor !== -Errno.Again) this.#failed(descriptor);
        return;
      }
    }
  }

  #accepted(descriptor: number): void {
    const { loop, place, user } = this;
    const isUnix = place.path !== undefined;
    const remote = isUnix ? undefined : loop.calls.peer;
    user.onAccepted(new EpollConnection(loop, descriptor, user.newMemory(), place.buffer, remote));
  }

  #failed(error: number): void {
    this.user.onAcceptFailed(callError(error, 'accept'));
    // Clients are not left waiting.
    if ((error === -Errno.TooManyOpen || error === -Errno.TableFull) && this.loop.spare.turnAway(this.handle.fd)) return;
    this.loop.rest(this.handle.fd);
    this.#timer = setTimeout(() => this.loop.goOn(this.handle.fd, Ready.Read), REST);
  }
}
