/** Messages between the half of a module in the main thread and its halves in the workers. */

/** How a channel is used. `T` is its value, `C` are changes to it, `M` are messages of workers. All of them are plain data that can be cloned. */
export interface ChannelOptions<T, C = never, M = never> {
  /** Makes the value after a change, in the main thread and in each worker. It may change the value that it gets. Needed for {@link Channel.change}. */
  readonly apply?: (value: T, change: C) => T;
  /** Called in workers when the value is another one. Not called in the main thread. */
  readonly changed?: (value: T) => void;
  /** Called in the main thread for each message. @param worker 0-based number of the one that has sent it */
  readonly told?: (message: M, worker: number) => void;
}

/** A value that the main thread has and every worker follows. */
export interface Channel<T, C = never, M = never> {
  /** As far as this thread knows it; undefined: none was published yet. Not to be changed. */
  readonly value: T | undefined;
  /**
   * In the main thread: makes this the value. Resolves when all workers have it; one that is busy gets it later, and one that is started
   * later has it before its handlers run. All workers see values and changes in their order. A value published in `start` at a reload has
   * arrived when `compile` runs in the workers; when the server starts, they serve before.
   * @throws Error in a worker, and in a constructor; DataCloneError for values that cannot be cloned
   */
  publish(value: T): Promise<void>;
  /** As {@link publish}, for a part of it. @throws Error without `apply`, or where there is no value yet */
  change(change: C): Promise<void>;
  /** In a worker: sends a message to the main thread. It is lost when no module there has the channel. @throws Error in the main thread */
  tell(message: M): void;
}

/**
 * The channels of a module between its halves. They are opened in the constructor or later, begin with `start`, and end with the module.
 * The same name is the same channel in all threads, and other modules have others. A worker that is replaced, or the object of a module
 * that is made again by a reload, finds the value there. Exceptions of callbacks are logged with the name of the module.
 */
export abstract class Channels {
  abstract open<T, C = never, M = never>(name: string, options?: ChannelOptions<T, C, M>): Channel<T, C, M>;
}
