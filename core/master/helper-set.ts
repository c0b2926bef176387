import type { Events } from '../module/events.js';
import type { Log } from '../module/services.js';
import type { HelperStart } from '../helper/helper-start.js';
import { WATCH_MS } from './hang-watch.js';
import { Helper, type FirstStart } from './helper.js';

/** The helper processes of the `helper` lines in force. */
export class HelperSet {
  readonly #helpers = new Map<string, Helper>();
  /** Restarts of those that are not wanted any more. */
  #endedRestarts = 0;

  readonly #watch = setInterval(() => {
    for (const helper of this.#helpers.values()) helper.watch();
  }, WATCH_MS).unref();

  constructor(
    private readonly log: Log,
    private readonly events: Events,
  ) {}

  /** Starts those that are new, ends those that are not wanted any more, and leaves the others alone. */
  follow(wanted: readonly HelperStart[]): void {
    const keys = new Set(wanted.map(keyOf));
    for (const [key, helper] of this.#helpers) {
      if (keys.has(key)) continue;
      this.#helpers.delete(key);
      this.#endedRestarts += helper.restarts;
      void helper.stop();
    }
    for (const start of wanted) {
      if (this.#helpers.has(keyOf(start))) continue;
      const helper = new Helper(start, this.log, this.events);
      this.#helpers.set(keyOf(start), helper);
      helper.run();
    }
  }

  /** How many processes were started again because others had ended. */
  get restarts(): number {
    return this.#endedRestarts + [...this.#helpers.values()].reduce((sum, { restarts }) => sum + restarts, 0);
  }

  /** Resolves when each of them does its work or has said why it cannot. */
  firstStarts(): Promise<readonly FirstStart[]> {
    return Promise.all([...this.#helpers.values()].map((helper) => helper.firstStart));
  }

  /** Lets them read their configurations again. */
  reload(): void {
    for (const helper of this.#helpers.values()) helper.reload();
  }

  reopenLogs(): void {
    for (const helper of this.#helpers.values()) helper.reopenLogs();
  }

  async stop(): Promise<void> {
    clearInterval(this.#watch);
    await Promise.all([...this.#helpers.values()].map((helper) => helper.stop()));
    this.#helpers.clear();
  }
}

function keyOf({ kind, module, conf }: HelperStart): string {
  return JSON.stringify([kind, module, conf]);
}
