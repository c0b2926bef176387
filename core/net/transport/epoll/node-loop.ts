import dgram from 'node:dgram';
import type * as Ffi from 'node:ffi';
import { datagramHandle, type DatagramHandle } from '../node/datagram-handle.js';

const DEFINITIONS = {
  close: { arguments: ['pointer', 'pointer'], return: 'i32' },
  dup3: { arguments: ['pointer', 'pointer', 'pointer'], return: 'i32' },
  eventfd: { arguments: ['pointer', 'pointer'], return: 'i32' },
  read: { arguments: ['pointer', 'pointer', 'pointer'], return: 'i32' },
  uv_backend_fd: { arguments: ['pointer'], return: 'i32' },
  uv_backend_timeout: { arguments: ['pointer', 'pointer'], return: 'i32' },
  uv_update_time: { arguments: ['pointer', 'pointer'], return: 'void' },
  write: { arguments: ['pointer', 'pointer', 'pointer'], return: 'i32' },
} as const;

/** `uv_loop_t` of libuv 1 with 64 bits (uv.h): bytes that are looked at, and where its members are. */
const SIZE = 104;
const BACKEND = 64;
const WATCHERS = 88;
/** Where the second pointer of an element of a queue is. */
const BEFORE = 8n;

/** EFD_NONBLOCK | EFD_CLOEXEC. */
const BELL = 0o2004000n;
const CLOSE_ON_EXEC = 0o2000000n;

/** Runs what `process.nextTick` and promises have queued, as Node.js does after each event. */
interface Ticks {
  readonly _tickCallback?: () => void;
}

/**
 * The event loop of Node.js in this thread, so far as one within it has to know it. It calls that one when it has been asked to: it watches a bell,
 * in the place of a socket for datagrams, from which it reads, fails because it is not a socket, and calls its handler. So errors and the end
 * of the thread are handled as for any other handle of Node.js.
 */
export class NodeLoop {
  /** Readable while something waits there for Node.js: files, messages, signals, other sockets, the bell. */
  readonly descriptor: number;
  /** Runs what handlers have queued. */
  readonly runTicks: () => void;
  readonly #c: Ffi.DynamicLibraryResult<typeof DEFINITIONS>['functions'];
  readonly #at: bigint;
  /** Sockets that it is to watch and does not yet: pointers to the first one and the last one, each in two halves. */
  readonly #watchers: Uint32Array;
  /** Where they point when there is none. */
  readonly #none: Uint32Array;
  readonly #socket: dgram.Socket;
  readonly #bell: bigint;
  readonly #word: Buffer = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]);
  readonly #wordAt: bigint;

  /** @param onCall when it was asked to call @throws Error where this Node.js is otherwise */
  constructor(ffi: typeof Ffi, onCall: () => void) {
    this.#c = ffi.dlopen(null, DEFINITIONS).functions;
    const { _tickCallback: runTicks } = process as unknown as Ticks;
    if (runTicks === undefined) throw new Error('promises of this Node.js cannot be run');
    this.runTicks = runTicks;
    this.#at = ffi.getCurrentEventLoop();
    this.#wordAt = ffi.getRawPointer(this.#word);
    this.descriptor = this.#c.uv_backend_fd(this.#at);
    const inside = ffi.toBuffer(this.#at, SIZE, false);
    const queue = this.#at + BigInt(WATCHERS);
    const isKnown = process.versions.uv.startsWith('1.') && inside.readInt32LE(BACKEND) === this.descriptor;
    if (!isKnown || ffi.getUint64(inside.readBigUInt64LE(WATCHERS), Number(BEFORE)) !== queue) {
      throw new Error('the event loop of this Node.js has another form');
    }
    this.#watchers = new Uint32Array(inside.buffer, inside.byteOffset + WATCHERS, 2);
    this.#none = new Uint32Array(BigUint64Array.of(queue).buffer);
    this.#socket = dgram.createSocket({ type: 'udp4', lookup: (address, _, found) => found(null, address, 4) });
    try {
      this.#socket.bind({ address: '127.0.0.1', port: 0, exclusive: true });
      this.#bell = this.#hang(onCall);
      this.#socket.unref();
    } catch (error) {
      this.#socket.close();
      throw error;
    }
  }

  /** It ends only after {@link unref}. */
  ref(): void {
    this.#socket.ref();
  }

  unref(): void {
    this.#socket.unref();
  }

  /** It calls soon, after what it has to do. */
  ring(): void {
    this.#c.write(this.#bell, this.#wordAt, 8n);
  }

  /** It has called. */
  silence(): void {
    this.#c.read(this.#bell, this.#wordAt, 8n);
  }

  /** How long it can wait until it has to run. Milliseconds; 0: it cannot, below 0: without an end. */
  timeLeft(): number {
    this.#c.uv_update_time(this.#at, 0n);
    const hasNew = this.#watchers[0] !== this.#none[0] || this.#watchers[1] !== this.#none[1];
    return hasNew ? 0 : this.#c.uv_backend_timeout(this.#at, 0n);
  }

  #hang(onCall: () => void): bigint {
    const handle = datagramHandle(this.#socket);
    const number = BigInt(fdOf(handle));
    const bell = this.#c.eventfd(0n, BELL);
    if (bell < 0) throw new Error('there is no descriptor for an event');
    const hung = this.#c.dup3(BigInt(bell), number, CLOSE_ON_EXEC);
    this.#c.close(BigInt(bell), 0n);
    if (hung < 0) throw new Error('a socket of this Node.js cannot be replaced');
    Object.assign(handle as DatagramHandle, { onmessage: onCall });
    return number;
  }
}

function fdOf(handle: DatagramHandle | undefined): number {
  const { fd = -1 } = handle ?? {};
  if (fd < 0) throw new Error('sockets of this Node.js have another form');
  return fd;
}
