import type * as Ffi from 'node:ffi';
import { getSystemErrorName } from 'node:util';
import { readAddress, type SocketAddress } from './addresses.js';
import type { SocketFamily } from './socket-family.js';

/**
 * Functions of the C library that the folder uses: every pointer and definition is in this file. Functions with up to three arguments cost half of
 * those with four (node:ffi checks these in a loop), and so `read` and `write` stand in for `recv` and `send`: Node.js ignores SIGPIPE.
 */
const DEFINITIONS = {
  __errno_location: { arguments: [], return: 'pointer' },
  accept4: { arguments: ['i32', 'pointer', 'pointer', 'i32'], return: 'i32' },
  bind: { arguments: ['i32', 'pointer', 'u32'], return: 'i32' },
  close: { arguments: ['i32'], return: 'i32' },
  connect: { arguments: ['i32', 'pointer', 'u32'], return: 'i32' },
  dup3: { arguments: ['i32', 'i32', 'i32'], return: 'i32' },
  epoll_create1: { arguments: ['i32'], return: 'i32' },
  epoll_ctl: { arguments: ['i32', 'i32', 'i32', 'pointer'], return: 'i32' },
  epoll_wait: { arguments: ['i32', 'pointer', 'i32', 'i32'], return: 'i32' },
  fcntl: { arguments: ['i32', 'i32', 'i32'], return: 'i32' },
  getpeername: { arguments: ['i32', 'pointer', 'pointer'], return: 'i32' },
  getsockname: { arguments: ['i32', 'pointer', 'pointer'], return: 'i32' },
  getsockopt: { arguments: ['i32', 'i32', 'i32', 'pointer', 'pointer'], return: 'i32' },
  listen: { arguments: ['i32', 'i32'], return: 'i32' },
  read: { arguments: ['i32', 'pointer', 'u32'], return: 'i32' },
  recvmsg: { arguments: ['i32', 'pointer', 'i32'], return: 'i32' },
  send: { arguments: ['i32', 'pointer', 'u32', 'i32'], return: 'i32' },
  sendmsg: { arguments: ['i32', 'pointer', 'i32'], return: 'i32' },
  setsockopt: { arguments: ['i32', 'i32', 'i32', 'pointer', 'u32'], return: 'i32' },
  shutdown: { arguments: ['i32', 'i32'], return: 'i32' },
  socket: { arguments: ['i32', 'i32', 'i32'], return: 'i32' },
  write: { arguments: ['i32', 'pointer', 'u32'], return: 'i32' },
} as const;

type Functions = Ffi.DynamicLibraryResult<typeof DEFINITIONS>['functions'];

/** Numbers of Linux, the same on x86-64 and arm64. */
export const enum Errno {
  Interrupted = 4,
  Again = 11,
  InvalidArgument = 22,
  NoBuffers = 105,
  Aborted = 103,
  InProgress = 115,
}
export const enum Level {
  Ip = 0,
  Socket = 1,
  Tcp = 6,
  Ipv6 = 41,
}
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
}
export const enum SocketKind {
  Stream = 1,
  Datagrams = 2,
}
/** IP_BIND_ADDRESS_NO_PORT: the port is chosen when it connects, among more of them. */
const BIND_WITHOUT_PORT = 24;
const NON_BLOCKING = 0o4000;
const CLOSE_ON_EXEC = 0o2000000;
const NO_SIGNAL = 0x4000;
const MORE = 0x8000;

/** Bytes that are joined to one write. */
export const JOINED = 131_072;
const ADDRESS_SIZE = 128;
/** F_SETFL. */
const SET_FLAGS = 4;
/** `struct msghdr`, followed by the one `struct iovec` that it has (64 bits): where their parts are. */
const NAME_LENGTH = 8;
const VECTOR = 16;
const VECTOR_COUNT = 24;
const IOVEC = 56;
const IOVEC_LENGTH = IOVEC + 8;
const MESSAGE_SIZE = IOVEC + 16;

/**
 * The system calls of one thread. Each returns the result of the system, or below 0 the number of the error, as Node.js has it. The
 * system keeps no memory beyond a call, and the memory of calls is kept permanently.
 */
export class SystemCalls {
  readonly #c: Functions;
  readonly #errno: bigint;
  /** Pieces that {@link sendJoined} sends. */
  readonly joined: Buffer = Buffer.allocUnsafeSlow(JOINED);
  readonly #joinedAt: bigint;
  readonly #address: Buffer = Buffer.alloc(ADDRESS_SIZE);
  readonly #addressAt: bigint;
  readonly #word: Buffer = Buffer.alloc(8);
  readonly #wordAt: bigint;
  readonly #message: Buffer = Buffer.alloc(MESSAGE_SIZE);
  readonly #messageAt: bigint;
  #last: Uint8Array | undefined = undefined;
  #lastAt = 0n;

  constructor(private readonly ffi: typeof Ffi) {
    this.#c = ffi.dlopen(null, DEFINITIONS).functions;
    this.#errno = this.#c.__errno_location();
    this.#joinedAt = ffi.getRawPointer(this.joined);
    this.#addressAt = ffi.getRawPointer(this.#address);
    this.#wordAt = ffi.getRawPointer(this.#word);
    this.#messageAt = ffi.getRawPointer(this.#message);
    this.#message.writeBigUInt64LE(this.#addressAt, 0);
    this.#message.writeBigUInt64LE(this.#messageAt + BigInt(IOVEC), VECTOR);
    this.#message.writeBigUInt64LE(1n, VECTOR_COUNT);
  }

  /** Reads up to the length of the buffer. */
  receive(descriptor: number, buffer: Uint8Array): number {
    const count = this.#c.read(descriptor, this.#at(buffer), buffer.length);
    return count < 0 ? this.#failure() : count;
  }

  send(descriptor: number, bytes: Uint8Array): number {
    if (bytes.length === 0) return 0;
    const count = this.#c.write(descriptor, this.ffi.getRawPointer(bytes), bytes.length);
    return count < 0 ? this.#failure() : count;
  }

  /** Sends the first bytes of {@link joined}. */
  sendJoined(descriptor: number, length: number): number {
    const count = this.#c.write(descriptor, this.#joinedAt, length);
    return count < 0 ? this.#failure() : count;
  }

  /** Sends the first bytes of {@link joined}; others follow at once, so that the system does not send a packet yet. */
  sendJoinedFirst(descriptor: number, length: number): number {
    const count = this.#c.send(descriptor, this.#joinedAt, length, NO_SIGNAL | MORE);
    return count < 0 ? this.#failure() : count;
  }

  /** Reads a datagram into {@link joined}; {@link peer} has where it comes from. */
  receiveDatagram(descriptor: number): number {
    this.#prepareMessage(ADDRESS_SIZE, this.#joinedAt, this.joined.length);
    const length = this.#c.recvmsg(descriptor, this.#messageAt, 0);
    return length < 0 ? this.#failure() : length;
  }

  /** @param to in the form of the system; undefined: it is connected */
  sendDatagram(descriptor: number, bytes: Uint8Array, to: Uint8Array | undefined): number {
    if (to !== undefined) this.#address.set(to);
    this.#prepareMessage(to?.length ?? 0, bytes.length === 0 ? this.#joinedAt : this.ffi.getRawPointer(bytes), bytes.length);
    const sent = this.#c.sendmsg(descriptor, this.#messageAt, NO_SIGNAL);
    return sent < 0 ? this.#failure() : sent;
  }

  #prepareMessage(nameLength: number, bytesAt: bigint, length: number): void {
    const message = this.#message;
    message.writeUInt32LE(nameLength, NAME_LENGTH);
    message.writeBigUInt64LE(bytesAt, IOVEC);
    message.writeUInt32LE(length, IOVEC_LENGTH);
  }

  /** Of a socket that was opened elsewhere: its calls do not wait. */
  unblock(descriptor: number): void {
    this.#c.fcntl(descriptor, SET_FLAGS, NON_BLOCKING);
  }

  /** {@link peer} has the address. */
  accept(descriptor: number): number {
    this.#word.writeInt32LE(ADDRESS_SIZE, 0);
    const accepted = this.#c.accept4(descriptor, this.#addressAt, this.#wordAt, NON_BLOCKING | CLOSE_ON_EXEC);
    return accepted < 0 ? this.#failure() : accepted;
  }

  /** Of the connection that was accepted, or the datagram that was received, last. */
  get peer(): SocketAddress {
    return readAddress(this.#address);
  }

  /** The own address of a socket. */
  localAddress(descriptor: number): SocketAddress | undefined {
    this.#word.writeInt32LE(ADDRESS_SIZE, 0);
    return this.#c.getsockname(descriptor, this.#addressAt, this.#wordAt) < 0 ? undefined : readAddress(this.#address);
  }

  /** Undefined also after a reset. */
  peerAddress(descriptor: number): SocketAddress | undefined {
    this.#word.writeInt32LE(ADDRESS_SIZE, 0);
    return this.#c.getpeername(descriptor, this.#addressAt, this.#wordAt) < 0 ? undefined : readAddress(this.#address);
  }

  openSocket(family: SocketFamily, kind: SocketKind): number {
    const descriptor = this.#c.socket(family, kind | NON_BLOCKING | CLOSE_ON_EXEC, 0);
    return descriptor < 0 ? this.#failure() : descriptor;
  }

  /** @param address in the form of the system */
  bind(descriptor: number, address: Uint8Array, hasPort: boolean): number {
    if (!hasPort) this.setOption(descriptor, Level.Ip, BIND_WITHOUT_PORT, 1);
    return this.#c.bind(descriptor, this.ffi.getRawPointer(address), address.length) < 0 ? this.#failure() : 0;
  }

  connect(descriptor: number, address: Uint8Array): number {
    return this.#c.connect(descriptor, this.ffi.getRawPointer(address), address.length) < 0 ? this.#failure() : 0;
  }

  /** The error of a connection that was begun, which the system then forgets. 0: it is made. */
  connectResult(descriptor: number): number {
    this.#word.writeInt32LE(0, 0);
    this.#word.writeInt32LE(4, 4);
    if (this.#c.getsockopt(descriptor, Level.Socket, SocketOption.Error, this.#wordAt, this.#wordAt + 4n) < 0) return this.#failure();
    return -this.#word.readInt32LE(0);
  }

  setOption(descriptor: number, level: Level, option: number, value: number): void {
    this.#word.writeInt32LE(value, 0);
    this.#c.setsockopt(descriptor, level, option, this.#wordAt, 4);
  }

  listen(descriptor: number, backlog: number): number {
    return this.#c.listen(descriptor, backlog) < 0 ? this.#failure() : 0;
  }

  /** Sends FIN. */
  endWriting(descriptor: number): void {
    this.#c.shutdown(descriptor, 1);
  }

  close(descriptor: number): void {
    this.#c.close(descriptor);
  }

  createEpoll(): number {
    const descriptor = this.#c.epoll_create1(CLOSE_ON_EXEC);
    return descriptor < 0 ? this.#failure() : descriptor;
  }

  /** Gives one number the meaning of another one. Its socket before is closed. */
  replace(descriptor: number, by: number): number {
    return this.#c.dup3(by, descriptor, CLOSE_ON_EXEC) < 0 ? this.#failure() : 0;
  }

  /** @param event see {@link EpollLoop}, in memory that is kept permanently */
  control(epoll: number, operation: number, descriptor: number, event: Uint8Array): number {
    return this.#c.epoll_ctl(epoll, operation, descriptor, this.#at(event)) < 0 ? this.#failure() : 0;
  }

  /** @returns how many of the events have come; it does not wait */
  wait(epoll: number, eventsAt: bigint, most: number): number {
    return this.#c.epoll_wait(epoll, eventsAt, most, 0);
  }

  /** Where memory is that is kept permanently. */
  pointer(memory: Uint8Array): bigint {
    return this.ffi.getRawPointer(memory);
  }

  /** Nearly all reads go to the same buffer. */
  #at(buffer: Uint8Array): bigint {
    if (buffer === this.#last) return this.#lastAt;
    this.#last = buffer;
    return (this.#lastAt = this.ffi.getRawPointer(buffer));
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
  return Object.assign(new Error(`${syscall} ${code}${where}`), { code, errno: number, syscall, ...place });
}
