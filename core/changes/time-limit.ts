/** Thrown by {@link within} when the time is over. */
export class TimeIsOver extends Error {}

/** Settles as `work` does, or with a {@link TimeIsOver} rejection after `ms` milliseconds. The work itself goes on. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimeIsOver()), Math.max(0, ms));
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
