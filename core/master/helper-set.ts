import type { Events } from '../contract/events.js';
import type { Log } from '../contract/log.js';
import type { HelperStart } from '../helper/helper-start.js';
import type { ControlListener } from '../net/control-listeners.js';
import { inodeOf, type OpenSocket } from './upgrade.js';
import { WATCH_MS } from './hang-watch.js';
import type { MasterParent } from './master-parent.js';
import { Helper, type FirstStart, type SentSocket } from './helper.js';
import type { HelperSocket } from '../helper/helper-start.js';

/** The helper processes of the `helper` current lines. */
export class HelperSet {
  readonly #helpers = new Map<string, Helper>();
  /** Restarts of helpers that are not wanted any more. */
  #endedRestarts = 0;

  readonly #watch = setInterval(() => {
    for (const helper of this.#helpers.values()) helper.watch();
  }, WATCH_MS).unref();

  constructor(
    private readonly log: Log,
    private readonly events: Events,
    /** {@link listeners} has changed. */
    private readonly onListens: () => void,
    private readonly parent: MasterParent | undefined,
  ) {}

  /** Starts new helpers, ends unwanted ones, and leaves the others alone. */
  follow(wanted: readonly HelperStart[], inherited: (owner: string) => readonly HelperSocket[] = () => []): void {
    const keys = new Set(wanted.map(keyOf));
    for (const [key, helper] of this.#helpers) {
      if (keys.has(key)) continue;
      this.#helpers.delete(key);
      this.#endedRestarts += helper.restarts;
      void helper.stop();
    }
    for (const start of wanted) {
      if (this.#helpers.has(keyOf(start))) continue;
      const helper = new Helper(start, this.log, this.events, this.onListens, { parent: this.parent, inherited: inherited(keyOf(start)) });
      this.#helpers.set(keyOf(start), helper);
      helper.run();
    }
  }

  /** Where they listen. */
  get listeners(): readonly ControlListener[] {
    return [...this.#helpers.values()].flatMap(({ listeners }) => listeners);
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

  /** Their open sockets. */
  async sockets(): Promise<readonly OpenSocket[]> {
    const all = await Promise.all(
      Array.from(this.#helpers, async ([owner, helper]) => (await helper.sockets()).map((socket) => openSocket(owner, socket))),
    );
    return all.flat();
  }

  /** Calls of the API that are under way get their responses. */
  async quit(): Promise<void> {
    clearInterval(this.#watch);
    // Calls go over the broker.
    const callers = [...this.#helpers.values()].filter(({ start }) => start.kind !== 'broker');
    await Promise.all(callers.map((helper) => helper.quit()));
    await this.stop();
  }

  async stop(): Promise<void> {
    clearInterval(this.#watch);
    await Promise.all([...this.#helpers.values()].map((helper) => helper.stop()));
    this.#helpers.clear();
  }
}

function openSocket(owner: string, { key, handle }: SentSocket): OpenSocket {
  return { owner, key, descriptor: handle.fd, inode: inodeOf(handle.fd), close: () => handle.close() };
}

function keyOf({ kind, module, conf }: HelperStart): string {
  return JSON.stringify([kind, module, conf]);
}
