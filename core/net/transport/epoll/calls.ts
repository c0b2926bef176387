import type * as Ffi from 'node:ffi';
import { getSystemErrorName } from 'node:util';
import { readAddress, type SocketAddress } from './addresses.js';
import { DatagramCalls } from './datagram-calls.js';
import { FileCalls } from './file-calls.js';
import { Level } from './levels.js';
import { NodeLoop } from './node-loop.js';
import { Registers } from './registers.js';
import { SocketFamily } from './socket-family.js';

/**
 * Functions of the C library that the folder uses: every pointer and definition is in this file. All arguments are registers, `pointer` for node:ffi:
 * it passes these on without the checks of its own, which cost 0.1 µs with up to three arguments, and 0.6 µs with more. A single one is checked in
 * any case, so that `close` gets a second one, which it does not look at.
 */
const TWO = { arguments: ['pointer', 'pointer'], return: 'i32' } as const;
const THREE = { arguments: ['pointer', 'pointer', 'pointer'], return: 'i32' } as const;
const FOUR = { arguments: ['pointer', 'pointer', 'pointer', 'pointer'], return: 'i32' } as const;
const FIVE = { arguments: ['pointer', 'pointer', 'pointer', 'pointer', 'pointer'], return: 'i32' } as const;
const SIX = { arguments: ['pointer', 'pointer', 'pointer', 'pointer', 'pointer', 'pointer'], return: 'i32' } as const;
const DEFINITIONS = {
  __errno_location: { arguments: [], return: 'pointer' },
  accept4: FOUR,
  bind: THREE,
  close: TWO,
  connect: THREE,
  epoll_create1: { arguments: ['i32'], return: 'i32' },
  epoll_ctl: FOUR,
  epoll_wait: FOUR,
  fcntl: THREE,
  getpeername: THREE,
  getsockname: THREE,
  getsockopt: FIVE,
  listen: TWO,
  mmap: { arguments: ['pointer', 'pointer', 'pointer', 'pointer', 'pointer', 'pointer'], return: 'pointer' },
  pipe2: TWO,
  read: THREE,
  send: FOUR,
  sendfile: FOUR,
  setsockopt: FIVE,
  shutdown: TWO,
  socket: THREE,
  socketpair: FOUR,
  splice: SIX,
  syscall: FIVE,
  write: THREE,
} as const;

type Functions = Ffi.DynamicLibraryResult<typeof DEFINITIONS>['functions'];

export const enum SocketOption {
  Error = 4,
  SendBuffer = 7,
  ReceiveBuffer = 8,
  KeepAlive = 9,
  ReusePort = 15,
}
export const enum TcpOption {
  NoDelay = 1,
  KeepIdle = 4,
  KeepInterval = 5,
  KeepCount = 6,
  DeferAccept = 9,
  FastOpen = 23,
}
export const enum SocketKind {
  Stream = 1,
  Datagrams = 2,
}
/** IP_BIND_ADDRESS_NO_PORT: the port is chosen when it connects, among more of them. */
const BIND_WITHOUT_PORT = 24;
const NON_BLOCKING = 0o4000n;
const CLOSE_ON_EXEC = 0o2000000n;
/** MSG_NOSIGNAL, MSG_MORE. */
const NO_SIGNAL_MORE = 0xc000n;

/** Bytes that are joined to one write. */
export const JOINED = 131_072;
const ADDRESS_SIZE = 128;
/** F_SETFL. */
const SET_FLAGS = 4n;
/** Bytes that one call of sendfile(2) sends at most. */
const MOST_OF_FILE = 0x7ffff000;
/** F_SETPIPE_SZ, F_GETPIPE_SZ. */
const SET_PIPE_SIZE = 1031n;
const GET_PIPE_SIZE = 1032n;
/** SPLICE_F_MOVE, SPLICE_F_NONBLOCK. */
const SPLICE = 3n;
/** The C library has no functions for these (io_uring_setup(2), io_uring_enter(2)); the numbers are those of all processors. */
const IO_URING_SETUP = 425n;
const IO_URING_ENTER = 426n;
/** IORING_ENTER_GETEVENTS. */
const GET_EVENTS = 1n;
/** PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, MAP_FAILED. */
const READ_AND_WRITE = 3n;
const PRIVATE_AND_ANONYMOUS = 0x22n;
const NO_FILE = 0xffffffffffffffffn;
const NO_MEMORY = 0xffffffffffffffffn;

/** Calls that move the bytes of a connection, with the results of {@link SystemCalls}. */
export interface ByteCalls {
  readonly joined: Buffer;
  receive(descriptor: number, buffer: Uint8Array): number;
  send(descriptor: number, bytes: Uint8Array): number;
  sendJoined(descriptor: number, length: number): number;
  sendJoinedFirst(descriptor: number, length: number): number;
  endWriting(descriptor: number): void;
}

/**
 * The system calls of one thread. Each returns the result of the system, or below 0 the number of the error, as Node.js has it. The
 * system keeps no memory beyond a call, and the memory of calls is kept permanently.
 */
export class SystemCalls implements ByteCalls {
  readonly #c: Functions;
  readonly #errno: bigint;
  /** Pieces that {@link sendJoined} sends. */
  readonly joined: Buffer = Buffer.allocUnsafeSlow(JOINED);
  readonly #joinedAt: bigint;
  readonly #address: Buffer = Buffer.alloc(ADDRESS_SIZE);
  readonly #addressAt: bigint;
  readonly #word: Buffer = Buffer.alloc(8);
  readonly #wordAt: bigint;
  readonly #registers = new Registers();
  #datagrams: DatagramCalls | undefined = undefined;
  #files: FileCalls | undefined = undefined;
  #last: Uint8Array | undefined = undefined;
  #lastAt = 0n;
  #lastLength = 0n;

  constructor(private readonly ffi: typeof Ffi) {
    this.#c = ffi.dlopen(null, DEFINITIONS).functions;
    this.#errno = this.#c.__errno_location();
    this.#joinedAt = ffi.getRawPointer(this.joined);
    this.#addressAt = ffi.getRawPointer(this.#address);
    this.#wordAt = ffi.getRawPointer(this.#word);
  }

  /** Calls for datagrams, whose memory is made when it is first needed. */
  get datagrams(): DatagramCalls {
    return (this.#datagrams ??= new DatagramCalls(this.ffi, this.#registers));
  }

  /** Calls for files. */
  get files(): FileCalls {
    return (this.#files ??= new FileCalls(this.ffi, this.#registers, this.joined));
  }

  /** @param params in the form of the system (`struct io_uring_params`), which it completes @returns a descriptor */
  setUpRing(entries: number, params: Uint8Array): number {
    const descriptor = this.#c.syscall(IO_URING_SETUP, this.#register(entries), this.ffi.getRawPointer(params), 0n, 0n);
    return descriptor < 0 ? this.#failure() : descriptor;
  }

  /** Makes the calls that were put into a ring. @param least results that it waits for @returns how many calls */
  enterRing(descriptor: number, count: number, least: number): number {
    const flags = least > 0 ? GET_EVENTS : 0n;
    const made = this.#c.syscall(IO_URING_ENTER, this.#register(descriptor), this.#register(count), this.#register(least), flags);
    return made < 0 ? this.#failure() : made;
  }

  /** Reads up to the length of the buffer. */
  receive(descriptor: number, buffer: Uint8Array): number {
    const count = this.#c.read(this.#register(descriptor), this.#at(buffer), this.#lastLength);
    return count < 0 ? this.#failure() : count;
  }

  send(descriptor: number, bytes: Uint8Array): number {
    if (bytes.length === 0) return 0;
    const count = this.#c.write(this.#register(descriptor), this.ffi.getRawPointer(bytes), this.#register(bytes.length));
    return count < 0 ? this.#failure() : count;
  }

  /** Sends the first bytes of {@link joined}. */
  sendJoined(descriptor: number, length: number): number {
    const count = this.#c.write(this.#register(descriptor), this.#joinedAt, this.#register(length));
    return count < 0 ? this.#failure() : count;
  }

  /** Sends the first bytes of {@link joined}; others follow at once, so that the system does not send a packet yet. */
  sendJoinedFirst(descriptor: number, length: number): number {
    const count = this.#c.send(this.#register(descriptor), this.#joinedAt, this.#register(length), NO_SIGNAL_MORE);
    return count < 0 ? this.#failure() : count;
  }

  /** Sends bytes of a file (sendfile(2)), as many as the system accepts. @returns 0: the file has no more */
  sendFile(descriptor: number, file: number, from: number, count: number): number {
    this.#word.writeBigUInt64LE(BigInt(from), 0);
    const sent = this.#c.sendfile(
      this.#register(descriptor),
      this.#register(file),
      this.#wordAt,
      this.#register(Math.min(count, MOST_OF_FILE)),
    );
    return sent < 0 ? this.#failure() : sent;
  }

  /** Of a socket that was opened elsewhere: its calls do not wait. */
  unblock(descriptor: number): void {
    this.#c.fcntl(this.#register(descriptor), SET_FLAGS, NON_BLOCKING);
  }

  /** {@link peer} has the address. */
  accept(descriptor: number): number {
    this.#word.writeInt32LE(ADDRESS_SIZE, 0);
    const accepted = this.#c.accept4(this.#register(descriptor), this.#addressAt, this.#wordAt, NON_BLOCKING | CLOSE_ON_EXEC);
    return accepted < 0 ? this.#failure() : accepted;
  }

  /** Of the connection that was accepted last. */
  get peer(): SocketAddress {
    return readAddress(this.#address);
  }

  /** The own address of a socket. */
  localAddress(descriptor: number): SocketAddress | undefined {
    this.#word.writeInt32LE(ADDRESS_SIZE, 0);
    return this.#c.getsockname(this.#register(descriptor), this.#addressAt, this.#wordAt) < 0 ? undefined : readAddress(this.#address);
  }

  /** Undefined also after a reset. */
  peerAddress(descriptor: number): SocketAddress | undefined {
    this.#word.writeInt32LE(ADDRESS_SIZE, 0);
    return this.#c.getpeername(this.#register(descriptor), this.#addressAt, this.#wordAt) < 0 ? undefined : readAddress(this.#address);
  }

  openSocket(family: SocketFamily, kind: SocketKind): number {
    const descriptor = this.#c.socket(BigInt(family), BigInt(kind) | NON_BLOCKING | CLOSE_ON_EXEC, 0n);
    return descriptor < 0 ? this.#failure() : descriptor;
  }

  /** Two unix sockets that are connected; a number below 0: that of an error. */
  socketPair(): readonly [number, number] | number {
    const failed =
      this.#c.socketpair(BigInt(SocketFamily.Unix), BigInt(SocketKind.Stream) | NON_BLOCKING | CLOSE_ON_EXEC, 0n, this.#wordAt) < 0;
    return failed ? this.#failure() : [this.#word.readInt32LE(0), this.#word.readInt32LE(4)];
  }

  /** Two ends of a pipe, for reading and for writing; a number below 0: that of an error. */
  createPipe(): readonly [output: number, input: number] | number {
    const failed = this.#c.pipe2(this.#wordAt, NON_BLOCKING | CLOSE_ON_EXEC) < 0;
    return failed ? this.#failure() : [this.#word.readInt32LE(0), this.#word.readInt32LE(4)];
  }

  /** @returns its size, which may be less */
  enlargePipe(descriptor: number, size: number): number {
    this.#c.fcntl(this.#register(descriptor), SET_PIPE_SIZE, this.#register(size));
    return this.#c.fcntl(this.#register(descriptor), GET_PIPE_SIZE, 0n);
  }

  /** Moves bytes between a socket and a pipe. @returns how many; 0: the end of a socket */
  splice(from: number, to: number, count: number): number {
    const moved = this.#c.splice(this.#register(from), 0n, this.#register(to), 0n, this.#register(count), SPLICE);
    return moved < 0 ? this.#failure() : moved;
  }

  /** @param address in the form of the system */
  bind(descriptor: number, address: Uint8Array, hasPort: boolean): number {
    if (!hasPort) this.setOption(descriptor, Level.Ip, BIND_WITHOUT_PORT, 1);
    return this.#c.bind(this.#register(descriptor), this.ffi.getRawPointer(address), this.#register(address.length)) < 0
      ? this.#failure()
      : 0;
  }

  connect(descriptor: number, address: Uint8Array): number {
    return this.#c.connect(this.#register(descriptor), this.ffi.getRawPointer(address), this.#register(address.length)) < 0
      ? this.#failure()
      : 0;
  }

  /** The error of a connection that was begun, which the system then forgets. 0: it is made. */
  connectResult(descriptor: number): number {
    this.#word.writeInt32LE(0, 0);
    this.#word.writeInt32LE(4, 4);
    const socket = this.#register(descriptor);
    const [level, option] = [this.#register(Level.Socket), this.#register(SocketOption.Error)];
    if (this.#c.getsockopt(socket, level, option, this.#wordAt, this.#wordAt + 4n) < 0) return this.#failure();
    return -this.#word.readInt32LE(0);
  }

  setOption(descriptor: number, level: Level, option: number, value: number): void {
    this.#word.writeInt32LE(value, 0);
    this.#c.setsockopt(this.#register(descriptor), this.#register(level), this.#register(option), this.#wordAt, 4n);
  }

  listen(descriptor: number, backlog: number): number {
    return this.#c.listen(this.#register(descriptor), this.#register(backlog)) < 0 ? this.#failure() : 0;
  }

  /** Sends FIN. */
  endWriting(descriptor: number): void {
    this.#c.shutdown(this.#register(descriptor), 1n);
  }

  close(descriptor: number): void {
    this.#c.close(this.#register(descriptor), 0n);
  }

  createEpoll(): number {
    const descriptor = this.#c.epoll_create1(Number(CLOSE_ON_EXEC));
    return descriptor < 0 ? this.#failure() : descriptor;
  }

  /** @param eventAt where the event is, see {@link EpollLoop} */
  control(epoll: number, operation: number, descriptor: number, eventAt: bigint): number {
    const failed = this.#c.epoll_ctl(this.#register(epoll), this.#register(operation), this.#register(descriptor), eventAt) < 0;
    return failed ? this.#failure() : 0;
  }

  /** @param timeout milliseconds; below 0: without an end @returns how many of the events have come */
  wait(epoll: number, eventsAt: bigint, most: number, timeout: number): number {
    return this.#c.epoll_wait(this.#register(epoll), eventsAt, this.#register(most), this.#register(timeout));
  }

  /** The event loop of Node.js in this thread. @throws Error where this Node.js is otherwise */
  nodeLoop(onCall: () => void): NodeLoop {
    return new NodeLoop(this.ffi, onCall);
  }

  /** Memory of whole pages, which no collector frees. Undefined: there is none. */
  mapPages(size: number): Buffer | undefined {
    const at = this.#c.mmap(0n, BigInt(size), READ_AND_WRITE, PRIVATE_AND_ANONYMOUS, NO_FILE, 0n);
    return at === NO_MEMORY ? undefined : this.ffi.toBuffer(at, size, false);
  }

  /** Where memory is that is kept permanently. */
  pointer(memory: Uint8Array): bigint {
    return this.ffi.getRawPointer(memory);
  }

  /** Nearly all reads go to the same buffer. */
  #at(buffer: Uint8Array): bigint {
    if (buffer === this.#last) return this.#lastAt;
    this.#last = buffer;
    this.#lastLength = this.#register(buffer.length);
    return (this.#lastAt = this.ffi.getRawPointer(buffer));
  }

  #register(value: number): bigint {
    return this.#registers.of(value);
  }

  #failure(): number {
    return -this.ffi.getInt32(this.#errno);
  }
}

/**
 * @param number below 0, of a call
 * @param place for `connect` and `bind`: address and port
 */
export function callError(
  number: number,
  syscall: string,
  place?: { readonly address: string; readonly port?: number },
): NodeJS.ErrnoException {
  const code = getSystemErrorName(number);
  const where = place === undefined ? '' : ` ${place.address}${place.port === undefined ? '' : `:${place.port}`}`;
  const text = `${syscall} ${code}${where}`;
  // Errors of sockets have no frames, as those of Node.js: streams read the stack of each, which would read the source maps first.
  return Object.assign(new Error(text), { stack: `Error: ${text}`, code, errno: number, syscall, ...place });
}
