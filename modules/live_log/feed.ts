import { setTimeout as sleep } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import type { ActionContext } from '../../core/contract/control.js';
import type { DataPlane } from '../../core/contract/data-plane.js';
import type { Tasks } from '../../core/contract/tasks.js';
import type { EntryPage, ReadParams } from './entry-page.js';
import { EntryRing } from './entry-ring.js';

const PAGE = 500;
/** How long the data plane is asked to wait for the next entry, and how soon it is asked again after it was away (ms). */
const WAIT = 5000;
const RETRY = 500;

/** The entries of the data plane in this process. It is asked for them as long as there are readers. */
export class LogFeed {
  readonly ring = new EntryRing();
  readonly #name = randomUUID();
  readonly #filters: string[] = [];
  /** Undefined: the data plane has not been asked since the last reader left. */
  #next: number | undefined;
  #polls = false;

  constructor(
    private readonly dataPlane: DataPlane,
    private readonly tasks: Tasks,
  ) {}

  get readers(): number {
    return this.#filters.length;
  }

  /** @throws ApiError when the data plane is away */
  async check(context: ActionContext): Promise<void> {
    await this.#call({ wait: 0, limit: 0 }, context);
  }

  /** Adds a reader, when the data plane knows its filter: requests that begin afterwards are seen. @throws ApiError when it is away */
  async enter(filter: string, context: ActionContext): Promise<void> {
    this.#filters.push(filter);
    try {
      const { next } = await this.#call({ wait: 0, limit: 0 }, context);
      if (this.#polls) return;
      this.#next = next;
      this.#polls = true;
      this.tasks.run((signal) => this.#poll(signal));
    } catch (error) {
      this.leave(filter);
      throw error;
    }
  }

  leave(filter: string): void {
    const at = this.#filters.indexOf(filter);
    if (at >= 0) this.#filters.splice(at, 1);
  }

  async #poll(signal: AbortSignal): Promise<void> {
    const context = { dryRun: false, requestId: 'logs' };
    try {
      while (this.readers > 0 && !signal.aborted) {
        try {
          const { entries, next } = await this.#call(
            { wait: WAIT, limit: PAGE, ...(this.#next !== undefined && { after: this.#next }) },
            context,
          );
          this.#next = next;
          if (entries.length > 0) this.ring.add(entries);
        } catch {
          // It is away, or has restarted: readers stay.
          this.#next = undefined;
          await sleep(RETRY, undefined, { signal });
        }
      }
    } finally {
      this.#polls = false;
    }
    // The data plane collects nothing any more. If it does not get this, it finds out by itself.
    if (this.readers === 0) await this.#call({ wait: 0, limit: 0 }, context).catch(() => undefined);
  }

  #call(params: Omit<ReadParams, 'reader' | 'filters'>, context: ActionContext): Promise<EntryPage> {
    return this.dataPlane.call<EntryPage>(
      'live_log.read',
      { reader: this.#name, filters: [...new Set(this.#filters)], ...params },
      context,
    );
  }
}
