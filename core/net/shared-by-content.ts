/** Makes one object of all settings that say the same: a thousand servers with one certificate share its TLS context. */
export class SharedByContent<Settings extends object, Made extends object> {
  readonly #made = new Map<string, WeakRef<Made>>();
  readonly #numbers = new WeakMap<object, number>();
  #last = 0;

  constructor(private readonly make: (settings: Settings) => Made) {}

  /** @throws what `make` throws */
  of(settings: Settings): Made {
    const key = JSON.stringify(this.#keyOf(settings));
    const known = this.#made.get(key)?.deref();
    if (known !== undefined) return known;
    const made = this.make(settings);
    for (const [old, reference] of this.#made) if (reference.deref() === undefined) this.#made.delete(old);
    this.#made.set(key, new WeakRef(made));
    return made;
  }

  /** Objects of classes are compared by identity: the bytes of a file are the same object as long as it does not change. */
  #keyOf(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#keyOf(item));
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return value;
    if (Object.getPrototypeOf(value) === Object.prototype) return Object.entries(value).map(([name, each]) => [name, this.#keyOf(each)]);
    const known = this.#numbers.get(value) ?? ++this.#last;
    this.#numbers.set(value, known);
    return { object: known };
  }
}
