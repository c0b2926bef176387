/** Reads of a page, repeated while it is shown, and again after a change. */
import { useEffect, useState } from 'preact/hooks';
import { get } from './api.js';
import { CallError } from './event-stream.js';
import { live } from './live.js';
import { useValue } from './value.js';

export interface Reading<T> {
  readonly data: T | undefined;
  /** Why there is none; empty: it is not known yet, or there is. */
  readonly error: string;
}

/** @param every milliseconds @param path empty: nothing is read */
export function useRead<T>(path: string, every: number): Reading<T> {
  const [reading, setReading] = useState<Reading<T>>({ data: undefined, error: '' });
  const changed = useValue(live.changed);
  useEffect(() => {
    if (path === '') return undefined;
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async (): Promise<void> => {
      const began = performance.now();
      const found = await get<T>(path, stop.signal).then(
        (data) => ({ data, error: '' }),
        (error: unknown) => ({ data: undefined, error: error instanceof CallError ? error.message : String(error) }),
      );
      if (stop.signal.aborted) return;
      setReading((before) => (found.error !== '' && before.data !== undefined ? { ...before, error: found.error } : found));
      timer = setTimeout(() => void read(), Math.max(every, (performance.now() - began) * 8));
    };
    void read();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [path, every, changed]);
  return reading;
}
