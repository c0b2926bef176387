import type { Clock } from '../../clock.js';
import type { OpenDescriptors } from '../open-descriptors.js';
import { callError, SocketKind, type SystemCalls } from './calls.js';
import { CollectedWrites } from './collected-writes.js';
import { DatagramOutbox } from './datagram-outbox.js';
import { IoRing } from './io-ring.js';
import type { NodeLoop } from './node-loop.js';
import type { TlsEngine } from './openssl/engine.js';
import { ReadViews } from './read-views.js';
import { ReadsAhead } from './reads-ahead.js';
import { SocketFamily } from './socket-family.js';
import { SpareDescriptor } from './spare-descriptor.js';
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
  /** Takes bytes that are read before an event is handled, if it would only read them now. */
  readonly ahead: AheadReader | undefined;
  /** @param events {@link Ready}, added up */
  onReady(events: number): void;
}

/** Gets bytes that were read ahead in place of an event. */
export interface AheadReader {
  /** @param place of its read */
  onAhead(reads: ReadsAhead, place: number): void;
  /** As {@link onAhead}, for a later turn: the handler of another event has failed. */
  keepAhead(reads: ReadsAhead, place: number): void;
}

/** Calls of one group of events that are made together. */
interface Together {
  readonly reads: ReadsAhead;
  readonly writes: CollectedWrites;
}

const ADD = 1;
const DELETE = 2;
const CHANGE = 3;

/** Most events of one turn: then files, timers and messages of the thread have theirs. */
const MOST = 256;
/** Events of one group, which have the same time. */
const GROUP = 16;
/** Events from which on calls are made together. */
const LEAST_TOGETHER = 2;
/** The structure is packed on x86-64 alone: 32-bit words of one event, and where its data begin. */
const IS_PACKED = process.arch === 'x64';
const WORDS = IS_PACKED ? 3 : 4;
const DATA = IS_PACKED ? 1 : 2;

/** Generation in the test of the form. */
const SAMPLE = 0x1234567;

/**
 * Events of the sockets of one thread, within the event loop of Node.js. While that one has nothing to do it is this one that waits, for both: each
 * wait of Node.js costs three calls of the system more, and it is another one that then calls this one. So it goes back to Node.js only for
 * timers that are due, files, messages, signals, and sockets of Node.js.
 */
export class EpollLoop {
  /** Handled events of numbers that had been given to another socket, or to none. */
  stale = 0;
  /** Undefined: connections do not speak TLS here. */
  tls: TlsEngine | undefined = undefined;
  /** Datagrams that leave at the end of a turn. */
  readonly outbox: DatagramOutbox;
  readonly views = new ReadViews();
  readonly spare: SpareDescriptor;
  /** Defined while a group of events is handled: it makes the writes after the last one. */
  collecting: CollectedWrites | undefined = undefined;
  readonly #epoll: number;
  readonly #node: NodeLoop;
  readonly #owners: (DescriptorOwner | undefined)[] = [];
  readonly #generations: number[] = [];
  #generation = 0;
  #pipe: SplicePipe | undefined = undefined;
  #size = 0;
  /** It runs, or Node.js was asked to call it. */
  #isOn = false;
  /** There is something to do for Node.js. */
  #isWanted = false;
  readonly #events = new Int32Array(new ArrayBuffer(4 * WORDS * MOST));
  readonly #eventsAt: bigint;
  /** Undefined: each call is made by itself. */
  #together: Together | undefined = undefined;
  /** It stays open, also while it is not wanted. Null: not tried yet. */
  #ring: IoRing | undefined | null = null;
  readonly #readers: (AheadReader | undefined)[] = Array.from({ length: GROUP }, () => undefined);
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
    this.spare = new SpareDescriptor(calls, open);
    this.#eventsAt = calls.pointer(new Uint8Array(this.#events.buffer));
    this.#changeAt = calls.pointer(new Uint8Array(this.#change.buffer));
    this.#epoll = calls.createEpoll();
    if (this.#epoll < 0) throw callError(this.#epoll, 'epoll_create1');
    open.add(this.#epoll);
    try {
      this.#test();
      this.#node = calls.nodeLoop(this.#stay);
      const forNode: DescriptorOwner = { ahead: undefined, onReady: () => (this.#isWanted = true) };
      const error = this.#register(this.#node.descriptor, forNode, Ready.Read);
      if (error < 0) throw callError(error, 'epoll_ctl');
    } catch (error) {
      open.delete(this.#epoll);
      calls.close(this.#epoll);
      throw error;
    }
  }

  get usesRing(): boolean {
    return this.#together !== undefined;
  }

  /** Makes the calls of a group of events together from now on, where the system can, or not any more. */
  useRing(wanted: boolean): void {
    if (wanted === this.usesRing) return;
    if (this.#ring === null) this.#ring = IoRing.open(this.calls, this.open);
    const ring = wanted ? this.#ring : undefined;
    this.#together = ring && { reads: new ReadsAhead(this.calls, ring), writes: new CollectedWrites(this.calls, ring, this.open) };
  }

  /** For bytes that nothing looks at. Undefined: there is no descriptor for it at the moment. */
  get pipe(): SplicePipe | undefined {
    return (this.#pipe ??= SplicePipe.open(this.calls, this.open));
  }

  /** Registers an open descriptor. @returns the generation, for {@link change}; below 0: the number of an error */
  add(descriptor: number, owner: DescriptorOwner, events: number): number {
    const generation = this.#register(descriptor, owner, events);
    if (generation < 0) return generation;
    if (this.#size++ === 0) this.#node.ref();
    this.#begin();
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
    if (--this.#size === 0) this.#node.unref();
  }

  /** Node.js calls it, after what it had to do. */
  readonly #stay = (): void => {
    const node = this.#node;
    node.silence();
    try {
      let left = node.timeLeft();
      while (this.#size > 0) {
        this.#isWanted = false;
        this.#turn(left);
        node.runTicks();
        left = node.timeLeft();
        if (this.#isWanted || left === 0) break;
      }
    } finally {
      this.#isOn = false;
      this.#begin();
    }
  };

  #begin(): void {
    if (this.#isOn || this.#size === 0) return;
    this.#isOn = true;
    this.#node.ring();
  }

  /** Everything is reported once more as long as it is so. @param timeout milliseconds; below 0: without an end */
  #turn(timeout: number): void {
    const count = this.calls.wait(this.#epoll, this.#eventsAt, MOST, timeout);
    this.outbox.isCollecting = true;
    try {
      this.#dispatch(count);
    } finally {
      this.clock?.release();
      this.outbox.isCollecting = false;
      this.outbox.flush();
    }
  }

  #dispatch(count: number): void {
    for (let from = 0; from < count; from += GROUP) {
      this.clock?.hold();
      const to = Math.min(from + GROUP, count);
      const together = to - from < LEAST_TOGETHER ? undefined : this.#together;
      if (together === undefined) for (let at = from; at < to; at++) this.#handle(at);
      else this.#handleTogether(together, from, to);
    }
  }

  #handle(at: number): void {
    const owner = this.#ownerAt(at);
    if (owner === undefined) this.stale++;
    else owner.onReady(this.#events[at * WORDS] as number);
  }

  /** First the reads of all, then each event with its bytes, then the writes of all. */
  #handleTogether({ reads, writes }: Together, from: number, to: number): void {
    const readers = this.#readers;
    reads.count = 0;
    for (let at = from; at < to; at++) {
      const reader = this.#events[at * WORDS] === Ready.Read ? this.#ownerAt(at)?.ahead : undefined;
      if (reader !== undefined) reads.add(this.#events[at * WORDS + DATA] as number);
      readers[at - from] = reader;
    }
    if (reads.count > 0) reads.make();
    this.collecting = writes;
    let [at, place] = [from, 0];
    try {
      while (at < to) {
        const reader = readers[at - from];
        if (reader === undefined) this.#handle(at++);
        else if (this.#ownerAt(at++) === undefined) {
          this.stale++;
          place++;
        } else reader.onAhead(reads, place++);
      }
    } finally {
      this.collecting = undefined;
      writes.flush();
      // A handler has failed: bytes that were read for the others are not lost.
      for (; at < to; at++) {
        const reader = readers[at - from];
        if (reader !== undefined && this.#ownerAt(at) !== undefined) reader.keepAhead(reads, place);
        if (reader !== undefined) place++;
      }
    }
  }

  /** Undefined: the number may be another socket's by now. */
  #ownerAt(at: number): DescriptorOwner | undefined {
    const descriptor = this.#events[at * WORDS + DATA] as number;
    return this.#generations[descriptor] === this.#events[at * WORDS + DATA + 1] ? this.#owners[descriptor] : undefined;
  }

  /** @returns its generation; below 0: the number of an error */
  #register(descriptor: number, owner: DescriptorOwner, events: number): number {
    const generation = (this.#generation = (this.#generation + 1) & 0x7fffffff);
    const error = this.#control(ADD, descriptor, events, generation);
    if (error < 0) return error;
    this.#owners[descriptor] = owner;
    this.#generations[descriptor] = generation;
    return generation;
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
    const count = error < 0 ? error : calls.wait(this.#epoll, this.#eventsAt, MOST, 0);
    calls.close(descriptor);
    const [events = 0] = this.#events;
    const isRight = count === 1 && (events & Ready.HangUp) !== 0 && this.#events[DATA] === descriptor && this.#events[DATA + 1] === SAMPLE;
    if (!isRight) throw new Error('epoll reports events in another form');
  }
}
