import type { FollowedSource, TakeServers } from '../../core/contract/members.js';
import type { Log } from '../../core/contract/log.js';
import type { Task, Tasks } from '../../core/contract/tasks.js';
import { parseServers } from './parse-servers.js';

/** Where a list is. */
export interface ServerList {
  /** For logs: without what is after the path of a URL. */
  readonly title: string;
  /**
   * Undefined: it has not changed since it was read last.
   * @param most bytes @throws ListError, or any error of the system, if it cannot be read
   */
  read(most: number, signal: AbortSignal): Promise<string | undefined>;
  /** It was read last in a form that is not valid: the next one is to be read whatever it is. */
  forget(): void;
}

export interface FollowedListOptions {
  readonly list: ServerList;
  /** The source, for the log. */
  readonly title: string;
  readonly interval: number;
  readonly timeout: number;
  readonly most: number;
  readonly take: TakeServers;
  readonly tasks: Tasks;
  readonly log: Log;
}

/** Reads a list now and then. One that fails leaves the servers as they are, and is logged once for each reason. */
export class FollowedList implements FollowedSource {
  readonly #ending = new AbortController();
  readonly #task: Task;
  #reason: string | undefined;

  constructor(private readonly options: FollowedListOptions) {
    const { tasks, interval } = options;
    const work = (signal: AbortSignal): Promise<void> => this.#read(signal);
    tasks.run(work);
    this.#task = tasks.every(interval, work);
  }

  end(): void {
    this.#task.cancel();
    this.#ending.abort();
  }

  async #read(stopping: AbortSignal): Promise<void> {
    if (this.#ending.signal.aborted) return;
    const { list, most, timeout, take } = this.options;
    const signal = AbortSignal.any([stopping, this.#ending.signal, AbortSignal.timeout(timeout)]);
    try {
      const text = await list.read(most, signal);
      if (text !== undefined) take(parseServers(text));
      this.#report(undefined);
    } catch (error) {
      if (stopping.aborted || this.#ending.signal.aborted) return;
      list.forget();
      this.#report(signal.aborted ? `it took longer than ${timeout} ms` : (error as Error).message);
    }
  }

  /** @param reason undefined: it was read */
  #report(reason: string | undefined): void {
    if (reason === this.#reason) return;
    const { log, title, list } = this.options;
    this.#reason = reason;
    if (reason === undefined) log.write('notice', `${title} are read from ${list.title} again`);
    else log.write('error', `${title} cannot be read from ${list.title}: ${reason}; the last ones stay in use`);
  }
}
