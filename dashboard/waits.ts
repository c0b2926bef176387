/** What loops of the page wait for. */

/** Resolves after some milliseconds, or at once when it is aborted. */
export function waited(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });
}

/** Resolves when the page can be seen, or when it is aborted. */
export function visible(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const changed = (): void => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener('visibilitychange', changed);
      resolve();
    };
    document.addEventListener('visibilitychange', changed);
    signal.addEventListener('abort', changed, { once: true });
  });
}
