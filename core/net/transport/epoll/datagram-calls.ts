import type * as Ffi from 'node:ffi';
import { readAddress, type SocketAddress } from './addresses.js';
import { Errno } from './errno.js';
import { MessageMemory } from './message-memory.js';
import { readDestination } from './packet-info.js';
import type { Registers } from './registers.js';

const FOUR = { arguments: ['pointer', 'pointer', 'pointer', 'pointer'], return: 'i32' } as const;
const FIVE = { arguments: ['pointer', 'pointer', 'pointer', 'pointer', 'pointer'], return: 'i32' } as const;
/** As in `calls.ts`. */
const DEFINITIONS = {
  __errno_location: { arguments: [], return: 'pointer' },
  recvmmsg: FIVE,
  send: FOUR,
  sendmmsg: FOUR,
} as const;

/** Most datagrams of one call. */
export const MOST_RECEIVED = 32;
const MOST_SENT = 32;
/** No datagram over IP is longer. */
const LONGEST = 65_536;
/** Longer ones are not collected. */
const COLLECTED_SIZE = 2048;
/** MSG_NOSIGNAL. */
const NO_SIGNAL = 0x4000n;

/** System calls for datagrams, several with one call. Results are those of `SystemCalls`. */
export class DatagramCalls {
  readonly #c: Ffi.DynamicLibraryResult<typeof DEFINITIONS>['functions'];
  readonly #errno: bigint;
  readonly #received: MessageMemory;
  readonly #collected: MessageMemory;
  #long: MessageMemory | undefined = undefined;
  /** Messages of the last call, whose lengths the system has changed. */
  #used = 0;

  constructor(
    private readonly ffi: typeof Ffi,
    private readonly registers: Registers,
  ) {
    this.#c = ffi.dlopen(null, DEFINITIONS).functions;
    this.#errno = this.#c.__errno_location();
    this.#received = new MessageMemory(ffi, MOST_RECEIVED, LONGEST);
    this.#collected = new MessageMemory(ffi, MOST_SENT, COLLECTED_SIZE);
  }

  /** Receives the datagrams that have come, up to {@link MOST_RECEIVED}. They are valid until the next call. @returns how many */
  receive(descriptor: number): number {
    for (let index = 0; index < this.#used; index++) this.#received.makeRoom(index);
    this.#used = 0;
    const count = this.#c.recvmmsg(this.registers.of(descriptor), this.#received.at, BigInt(MOST_RECEIVED), 0n, 0n);
    if (count < 0) return this.#failure();
    this.#used = count;
    return count;
  }

  bytes(index: number): Buffer {
    return this.#received.bytes(index);
  }

  /** The sender in the form of the system, as text of bytes. */
  senderText(index: number): string {
    return this.#received.nameText(index);
  }

  sender(index: number): SocketAddress {
    return readAddress(this.#received.name(index));
  }

  /** The address that it was sent to, where its socket reports it. */
  destination(index: number): string | undefined {
    const control = this.#received.control(index);
    return control.length === 0 ? undefined : readDestination(control);
  }

  /** Sends one over a socket that is connected. */
  send(descriptor: number, bytes: Uint8Array): number {
    const at = bytes.length === 0 ? this.#collected.at : this.ffi.getRawPointer(bytes);
    return this.#result(this.#c.send(this.registers.of(descriptor), at, BigInt(bytes.length), NO_SIGNAL));
  }

  /** @param source see `sourceMessage`; undefined: the system chooses */
  sendTo(descriptor: number, bytes: Uint8Array, name: Uint8Array, source: Uint8Array | undefined): number {
    this.#long ??= new MessageMemory(this.ffi, 1, LONGEST);
    if (bytes.length > LONGEST) return -Errno.MessageSize;
    this.#long.put(0, name, source, bytes);
    return this.#result(this.#c.sendmmsg(this.registers.of(descriptor), this.#long.at, 1n, NO_SIGNAL));
  }

  /** Adds a datagram to what {@link sendCollected} sends. False: it is too long, or there is no room. @param index after the ones before it */
  collect(index: number, bytes: Uint8Array, name: Uint8Array, source: Uint8Array | undefined): boolean {
    if (index >= MOST_SENT || bytes.length > COLLECTED_SIZE) return false;
    this.#collected.put(index, name, source, bytes);
    return true;
  }

  /** @returns how many of them are sent; below 0: the first one is not */
  sendCollected(descriptor: number, from: number, count: number): number {
    return this.#result(this.#c.sendmmsg(this.registers.of(descriptor), this.#collected.from(from), this.registers.of(count), NO_SIGNAL));
  }

  #result(count: number): number {
    return count < 0 ? this.#failure() : count;
  }

  #failure(): number {
    return -this.ffi.getInt32(this.#errno);
  }
}
