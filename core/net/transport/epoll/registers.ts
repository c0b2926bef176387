/** Numbers up to here are converted once: descriptors, and lengths of what is written. */
const CONVERTED = 4096;

/** Arguments of calls as node:ffi wants them for `pointer`. */
export class Registers {
  readonly #values: bigint[] = Array.from({ length: CONVERTED }, (_, value) => BigInt(value));

  /** @param value 32 bits of it are passed: one below 0 stays so, as that of no descriptor, which the system rejects, or of no time limit */
  of(value: number): bigint {
    return this.#values[value] ?? BigInt(value >>> 0);
  }
}
