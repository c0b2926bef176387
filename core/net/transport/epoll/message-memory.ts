import type * as Ffi from 'node:ffi';

/** `struct mmsghdr` of 64 bits, in words of 32 bits: where its parts are. */
const HEADER = 16;
const NAME = 0;
const NAME_LENGTH = 2;
const VECTOR = 4;
const VECTOR_COUNT = 6;
const CONTROL = 8;
const CONTROL_LENGTH = 10;
const LENGTH = 14;
/** `struct iovec` of 64 bits: its length, in words. */
const IOVEC = 4;
const IOVEC_LENGTH = 2;

/** Room for a `struct sockaddr_in6`. */
const NAME_SIZE = 32;
/** Room for the one control message that there is. */
const CONTROL_SIZE = 64;

/** Memory of the messages of one call of recvmmsg(2) or sendmmsg(2), kept permanently. The system touches what messages need of it, and no more. */
export class MessageMemory {
  /** Of the list of messages. */
  readonly at: bigint;
  readonly #headers: Uint32Array;
  readonly #vectors: Uint32Array;
  readonly #names: Buffer;
  readonly #controls: Buffer;
  readonly #bytes: Buffer;

  /** @param size most bytes of a message */
  constructor(
    ffi: typeof Ffi,
    readonly count: number,
    readonly size: number,
  ) {
    this.#headers = new Uint32Array(count * HEADER);
    this.#vectors = new Uint32Array(count * IOVEC);
    this.#names = Buffer.alloc(count * NAME_SIZE);
    this.#controls = Buffer.alloc(count * CONTROL_SIZE);
    this.#bytes = Buffer.allocUnsafeSlow(count * size);
    this.at = ffi.getRawPointer(this.#headers);
    const [vectorsAt, namesAt, controlsAt, bytesAt] = [this.#vectors, this.#names, this.#controls, this.#bytes].map((memory) =>
      ffi.getRawPointer(memory),
    ) as [bigint, bigint, bigint, bigint];
    for (let index = 0; index < count; index++) {
      const offset = BigInt(index);
      putPointer(this.#headers, index * HEADER + NAME, namesAt + offset * BigInt(NAME_SIZE));
      putPointer(this.#headers, index * HEADER + VECTOR, vectorsAt + offset * BigInt(4 * IOVEC));
      this.#headers[index * HEADER + VECTOR_COUNT] = 1;
      putPointer(this.#headers, index * HEADER + CONTROL, controlsAt + offset * BigInt(CONTROL_SIZE));
      putPointer(this.#vectors, index * IOVEC, bytesAt + offset * BigInt(size));
      this.makeRoom(index);
    }
  }

  /** Pointer to one message, and to the ones after it. */
  from(index: number): bigint {
    return this.at + BigInt(4 * HEADER * index);
  }

  /** Before a message is received: the system writes lengths over the sizes. */
  makeRoom(index: number): void {
    this.#headers[index * HEADER + NAME_LENGTH] = NAME_SIZE;
    this.#headers[index * HEADER + CONTROL_LENGTH] = CONTROL_SIZE;
    this.#vectors[index * IOVEC + IOVEC_LENGTH] = this.size;
  }

  /** A message to be sent. @param source control message; undefined: there is none */
  put(index: number, name: Uint8Array, source: Uint8Array | undefined, bytes: Uint8Array): void {
    this.#names.set(name, index * NAME_SIZE);
    this.#headers[index * HEADER + NAME_LENGTH] = name.length;
    if (source !== undefined) this.#controls.set(source, index * CONTROL_SIZE);
    this.#headers[index * HEADER + CONTROL_LENGTH] = source?.length ?? 0;
    this.#bytes.set(bytes, index * this.size);
    this.#vectors[index * IOVEC + IOVEC_LENGTH] = bytes.length;
  }

  /** The bytes of a received message, valid until the next call. */
  bytes(index: number): Buffer {
    const from = index * this.size;
    return this.#bytes.subarray(from, from + (this.#headers[index * HEADER + LENGTH] as number));
  }

  /** Its `struct sockaddr`. */
  name(index: number): Buffer {
    const from = index * NAME_SIZE;
    return this.#names.subarray(from, from + (this.#headers[index * HEADER + NAME_LENGTH] as number));
  }

  /** The same as text of bytes. */
  nameText(index: number): string {
    const from = index * NAME_SIZE;
    return this.#names.latin1Slice(from, from + (this.#headers[index * HEADER + NAME_LENGTH] as number));
  }

  /** Its control message; empty: there is none. */
  control(index: number): Buffer {
    const from = index * CONTROL_SIZE;
    return this.#controls.subarray(from, from + (this.#headers[index * HEADER + CONTROL_LENGTH] as number));
  }
}

function putPointer(memory: Uint32Array, word: number, at: bigint): void {
  memory[word] = Number(at & 0xffffffffn);
  memory[word + 1] = Number(at >> 32n);
}
