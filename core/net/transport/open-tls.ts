/** Bytes at first and at most: for 65,536 and 4,194,304 numbers of descriptors, and for 1,024 and 1,048,576 contexts. */
const CONNECTIONS_SIZE = 524_288;
const MAX_CONNECTIONS_SIZE = 33_554_432;
const CONTEXTS_SIZE = 8192;
const MAX_CONTEXTS_SIZE = 8_388_608;
/** Bytes of a pointer. */
const POINTER = 8;

/** Memory of {@link OpenTls}. */
export interface OpenTlsMemory {
  readonly connections: SharedArrayBuffer;
  readonly contexts: SharedArrayBuffer;
}

/** Pointers that nothing uses any more. */
export interface AbandonedTls {
  readonly connections: readonly bigint[];
  readonly contexts: readonly bigint[];
}

/**
 * Objects of OpenSSL that a worker has made, in memory that its process shares with it: nothing frees them when the thread dies. Connections are
 * found by their descriptors.
 */
export class OpenTls {
  /** Both grow with their memory. */
  readonly #connections: BigUint64Array;
  readonly #contexts: BigUint64Array;
  /** Places of contexts, in the thread that makes them. */
  readonly #places = new Map<bigint, number>();
  readonly #free: number[] = [];

  /** @param memory of an existing table */
  constructor(
    readonly memory: OpenTlsMemory = {
      connections: new SharedArrayBuffer(CONNECTIONS_SIZE, { maxByteLength: MAX_CONNECTIONS_SIZE }),
      contexts: new SharedArrayBuffer(CONTEXTS_SIZE, { maxByteLength: MAX_CONTEXTS_SIZE }),
    },
  ) {
    this.#connections = new BigUint64Array(memory.connections);
    this.#contexts = new BigUint64Array(memory.contexts);
  }

  /** Right after it was made. */
  addConnection(descriptor: number, pointer: bigint): void {
    if (hasRoom(this.memory.connections, descriptor)) this.#connections[descriptor] = pointer;
  }

  /** Right before it is freed. */
  deleteConnection(descriptor: number): void {
    if (descriptor < this.#connections.length) this.#connections[descriptor] = 0n;
  }

  /** As {@link addConnection}. */
  addContext(pointer: bigint): void {
    const place = this.#free.pop() ?? this.#places.size;
    if (!hasRoom(this.memory.contexts, place)) return;
    this.#places.set(pointer, place);
    this.#contexts[place] = pointer;
  }

  /** As {@link deleteConnection}. */
  deleteContext(pointer: bigint): void {
    const place = this.#places.get(pointer);
    if (place === undefined) return;
    this.#places.delete(pointer);
    this.#free.push(place);
    this.#contexts[place] = 0n;
  }

  /** Forgets everything: the thread has ended, and what it has made is freed by the caller. @param descriptors that were open */
  abandon(descriptors: readonly number[]): AbandonedTls {
    const connections = descriptors.map((descriptor) => this.#connections[descriptor] ?? 0n).filter((pointer) => pointer !== 0n);
    for (const descriptor of descriptors) this.deleteConnection(descriptor);
    const contexts = [...this.#contexts].filter((pointer) => pointer !== 0n);
    this.#contexts.fill(0n);
    return { connections, contexts };
  }
}

function hasRoom(memory: SharedArrayBuffer, place: number): boolean {
  const needed = (place + 1) * POINTER;
  if (needed > memory.maxByteLength) return false;
  if (memory.byteLength < needed) memory.grow(Math.min(memory.maxByteLength, 2 ** Math.ceil(Math.log2(needed))));
  return true;
}
