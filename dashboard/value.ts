/** Values that components follow. */
import { useEffect, useState } from 'preact/hooks';

export class Value<T> {
  #current: T;
  readonly #listeners = new Set<() => void>();

  constructor(initial: T) {
    this.#current = initial;
  }

  get current(): T {
    return this.#current;
  }

  set(value: T): void {
    if (Object.is(value, this.#current)) return;
    this.#current = value;
    for (const listener of this.#listeners) listener();
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}

export function useValue<T>(value: Value<T>): T {
  const [current, setCurrent] = useState<T>(() => value.current);
  useEffect(() => {
    const follow = (): void => setCurrent(() => value.current);
    follow();
    return value.onChange(follow);
  }, [value]);
  return current;
}
