import { ApiError } from '../module/control.js';

/**
 * The memory that zones of dynamic upstreams may take together (shared_slab_pool_size). An account, not memory: zones are made one by one
 * when they are needed, so that the pool can grow at a reload.
 */
export class SharedPool {
  readonly #reserved = new Map<string, number>();
  #used = 0;

  constructor(private limit: number) {}

  get size(): number {
    return this.limit;
  }

  get used(): number {
    return this.#used;
  }

  /** @throws ApiError 507 `SharedPoolExhausted`; 409 `EntryExists` if `name` holds memory already */
  reserve(name: string, size: number): void {
    if (this.#reserved.has(name)) throw new ApiError(409, 'EntryExists', `zone "${name}" exists already`);
    if (this.#used + size > this.limit)
      throw new ApiError(
        507,
        'SharedPoolExhausted',
        `no memory for zone "${name}": it needs ${size} bytes, ${this.limit - this.#used} of ${this.limit} are free; ` +
          `raise shared_slab_pool_size to ${this.#used + size} at least and reload, or remove a dynamic upstream`,
      );
    this.#reserved.set(name, size);
    this.#used += size;
  }

  release(name: string): void {
    this.#used -= this.#reserved.get(name) ?? 0;
    this.#reserved.delete(name);
  }

  /** Another limit at a reload. @throws Error if what is reserved does not fit in it */
  resize(limit: number): void {
    if (limit < this.#used)
      throw new Error(`shared_slab_pool_size ${limit} is less than the ${this.#used} bytes that dynamic upstreams use`);
    this.limit = limit;
  }
}
