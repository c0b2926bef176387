/** Datagrams to unix sockets, such as /dev/log. Node.js has no sockets of that kind: libc is called, which works on Linux with Node.js 26. */

type Ffi = NonNullable<ReturnType<typeof ffiModule>>;

const AF_UNIX = 1;
/** SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC of Linux. */
const KIND = 2 | 0o4000 | 0o2000000;
/** MSG_DONTWAIT | MSG_NOSIGNAL. */
const FLAGS = 0x40 | 0x4000;
/** sa_family and sun_path. */
const ADDRESS_LENGTH = 2 + 108;
/** Longest message; the rest is cut off. */
const LONGEST = 65_536;

/** A socket that datagrams are sent from, without ever waiting: what a slow or missing receiver has no room for is lost. */
export class UnixDatagrams {
  readonly #calls: ReturnType<typeof callsOf>;
  readonly #descriptor: number;
  // Memory that libc reads. It is held as long as this object, and never moves.
  readonly #address = Buffer.alloc(ADDRESS_LENGTH);
  readonly #message = Buffer.alloc(LONGEST);
  readonly #addressPointer: bigint;
  readonly #messagePointer: bigint;
  readonly #addressLength: number;

  /** @throws Error that says what is missing */
  constructor(path: string) {
    const ffi = process.platform === 'linux' ? ffiModule() : undefined;
    if (ffi === undefined) throw new Error('unix sockets of syslog need Linux and Node.js 26');
    this.#calls = callsOf(ffi);
    this.#address.writeUInt16LE(AF_UNIX, 0);
    // The path ends with a NUL.
    this.#addressLength = 2 + this.#address.write(path, 2, ADDRESS_LENGTH - 3) + 1;
    this.#addressPointer = ffi.getRawPointer(this.#address);
    this.#messagePointer = ffi.getRawPointer(this.#message);
    this.#descriptor = this.#calls.socket(AF_UNIX, KIND, 0);
    if (this.#descriptor < 0) throw new Error('socket() failed');
  }

  send(bytes: Buffer): void {
    const length = bytes.copy(this.#message);
    this.#calls.sendto(this.#descriptor, this.#messagePointer, BigInt(length), FLAGS, this.#addressPointer, this.#addressLength);
  }

  close(): void {
    this.#calls.close(this.#descriptor);
  }
}

/** Undefined before Node.js 26. */
function ffiModule() {
  return process.getBuiltinModule('node:ffi');
}

function callsOf(ffi: Ffi) {
  return ffi.dlopen(null, {
    socket: { arguments: ['i32', 'i32', 'i32'], return: 'i32' },
    sendto: { arguments: ['i32', 'pointer', 'u64', 'i32', 'pointer', 'u32'], return: 'i64' },
    close: { arguments: ['i32'], return: 'i32' },
  }).functions;
}
