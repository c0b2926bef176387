import dgram from 'node:dgram';
import { datagramHandle } from '../node/datagram-handle.js';
import type { Clock } from '../../clock.js';
import type { OpenDescriptors } from '../open-descriptors.js';
import { callError, SocketKind, type SystemCalls } from './calls.js';
import { DatagramOutbox } from './datagram-outbox.js';
import type { TlsEngine } from './openssl/engine.js';
import { ReadViews } from './read-views.js';
import { SocketFamily } from './socket-family.js';
import { SplicePipe } from './splice-pipe.js';

/** Events that epoll reports (epoll_ctl(2)). */
export const enum Ready {
  None = 0,
  Read = 1,
  Write = 4,
  Error = 8,
  HangUp = 16,
  /** The other side has sent FIN, or more. */
  PeerEnded = 0x2000,
}

/** Has one descriptor, and gets its events. */
export interface DescriptorOwner {
  /** @param events {@link Ready}, added up */
  onReady(events: number): void;
}

const ADD = 1;
const DELETE = 2;
const CHANGE = 3;

/** Most events of one turn: then files, timers and messages of the thread have theirs. */
const MOST = 256;
/** Events that have the same time. */
const OF_ONE_TIME = 16;
/** The structure is packed on x86-64 alone: 32-bit words of one event, and where its data begin. */
const IS_PACKED = process.arch === 'x64';
const WORDS = IS_PACKED ? 3 : 4;
const DATA = IS_PACKED ? 1 : 2;

/** Generation in the test of the form. */
const SAMPLE = 0x1234567;

/** Its used parts. */
interface DatagramInside {
  readonly fd: number;
}

/**
 * Events of the sockets of one thread, beside the event loop of Node.js. That loop watches a socket for datagrams, whose number leads to the
 * epoll descriptor instead: Node.js reads from it, fails, because it is not a socket, and calls its handler, which is ours. So callbacks, microtasks,
 * errors and the end of the thread are handled as for any other handle of Node.js.
 */
export class EpollLoop {
  /** Handled events of numbers that had been given to another socket, or to none. */
  stale = 0;
  /** Undefined: connections do not speak TLS here. */
  tls: TlsEngine | undefined = undefined;
  /** Datagrams that leave at the end of a turn. */
  readonly outbox: DatagramOutbox;
  readonly views = new ReadViews();
  readonly #epoll: number;
  readonly #socket: dgram.Socket;
  readonly #owners: (DescriptorOwner | undefined)[] = [];
  readonly #generations: number[] = [];
  #generation = 0;
  #pipe: SplicePipe | undefined = undefined;
  #size = 0;
  readonly #events = new Int32Array(new ArrayBuffer(4 * WORDS * MOST));
  readonly #eventsAt: bigint;
  readonly #change = new Int32Array(new ArrayBuffer(4 * WORDS));
  readonly #changeAt: bigint;

  /** @throws Error where the system, or this Node.js, is otherwise */
  constructor(
    readonly calls: SystemCalls,
    /** Sockets that are opened here and not by Node.js. */
    readonly open: OpenDescriptors,
    /** Read once for several events: each reading has a cost. */
    private readonly clock?: Clock,
  ) {
    this.outbox = new DatagramOutbox(calls);
    this.#eventsAt = calls.pointer(new Uint8Array(this.#events.buffer));
    this.#changeAt = calls.pointer(new Uint8Array(this.#change.buffer));
    this.#socket = dgram.createSocket({ type: 'udp4', lookup: (address, _, found) => found(null, address, 4) });
    try {
      this.#socket.bind({ address: '127.0.0.1', port: 0, exclusive: true });
      this.#epoll = this.#takeNumber();
      this.#test();
      this.#socket.unref();
    } catch (error) {
      this.#socket.close();
      throw error;
    }
  }

  /** For bytes that nothing looks at. Undefined: there is no descriptor for it at the moment. */
  get pipe(): SplicePipe | undefined {
    return (this.#pipe ??= SplicePipe.open(this.calls, this.open));
  }

  /** Registers an open descriptor. @returns the generation, for {@link change}; below 0: the number of an error */
  add(descriptor: number, owner: DescriptorOwner, events: number): number {
    const generation = (this.#generation = (this.#generation + 1) & 0x7fffffff);
    const error = this.#control(ADD, descriptor, events, generation);
    if (error < 0) return error;
    this.#owners[descriptor] = owner;
    this.#generations[descriptor] = generation;
    if (this.#size++ === 0) this.#socket.ref();
    return generation;
  }

  /** Other events are reported from now on. */
  change(descriptor: number, events: number): void {
    this.#control(CHANGE, descriptor, events, this.#generations[descriptor] ?? 0);
  }

  /** Reports nothing for now, not even an error. See {@link goOn}. */
  rest(descriptor: number): void {
    this.#control(DELETE, descriptor, Ready.None, 0);
  }

  /** Undoes {@link rest}. */
  goOn(descriptor: number, events: number): void {
    this.#control(ADD, descriptor, events, this.#generations[descriptor] ?? 0);
  }

  /** @param isClosed the descriptor is about to be closed, and the socket has no other number; else it stays open */
  remove(descriptor: number, isClosed: boolean): void {
    if (this.#owners[descriptor] === undefined) return;
    if (!isClosed) this.rest(descriptor);
    this.#owners[descriptor] = undefined;
    if (--this.#size === 0) this.#socket.unref();
  }

  /** Everything is reported once more as long as it is so. */
  readonly #turn = (): void => {
    this.outbox.isCollecting = true;
    try {
      this.#dispatch(this.calls.wait(this.#epoll, this.#eventsAt, MOST));
    } finally {
      this.clock?.release();
      this.outbox.isCollecting = false;
      this.outbox.flush();
    }
  };

  #dispatch(count: number): void {
    const events = this.#events;
    for (let at = 0; at < count * WORDS; at += WORDS) {
      if (at % (OF_ONE_TIME * WORDS) === 0) this.clock?.hold();
      const descriptor = events[at + DATA] as number;
      const owner = this.#owners[descriptor];
      // A number may be another socket's by now.
      if (owner === undefined || this.#generations[descriptor] !== events[at + DATA + 1]) this.stale++;
      else owner.onReady(events[at] as number);
    }
  }

  #control(operation: number, descriptor: number, events: number, generation: number): number {
    this.#change[0] = events;
    this.#change[DATA] = descriptor;
    this.#change[DATA + 1] = generation;
    return this.calls.control(this.#epoll, operation, descriptor, this.#changeAt);
  }

  /** An event has the form that is expected: a socket that is not connected is reported at once. @throws Error if not */
  #test(): void {
    const { calls } = this;
    const descriptor = calls.openSocket(SocketFamily.IPv4, SocketKind.Stream);
    if (descriptor < 0) throw callError(descriptor, 'socket');
    const error = this.#control(ADD, descriptor, Ready.Write, SAMPLE);
    const count = error < 0 ? error : calls.wait(this.#epoll, this.#eventsAt, MOST);
    calls.close(descriptor);
    const [events = 0] = this.#events;
    const isRight = count === 1 && (events & Ready.HangUp) !== 0 && this.#events[DATA] === descriptor && this.#events[DATA + 1] === SAMPLE;
    if (!isRight) throw new Error('epoll reports events in another form');
  }

  #takeNumber(): number {
    const handle = datagramHandle(this.#socket) as DatagramInside | undefined;
    if (handle === undefined || !(handle.fd >= 0)) throw new Error('sockets of this Node.js have another form');
    const epoll = this.calls.createEpoll();
    if (epoll < 0) throw callError(epoll, 'epoll_create1');
    const error = this.calls.replace(handle.fd, epoll);
    this.calls.close(epoll);
    if (error < 0) throw callError(error, 'dup3');
    Object.assign(handle, { onmessage: this.#turn });
    return handle.fd;
  }
}
