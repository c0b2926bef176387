/** Changes that wait while another one is on its way take effect together: one round through the workers and one write to the disk for all. */
import type { ActionContext } from '../contract/control.js';
import type { Applied } from '../contract/transactions.js';

/** Changes of one group: a change waits for all that are active with it. */
const MOST_CHANGES = 128;

/** A change that waits for its turn. */
export interface WaitingChange<Build> {
  readonly build: Build;
  readonly context: Partial<ActionContext>;
  readonly resolve: (applied: Applied) => void;
  readonly reject: (error: unknown) => void;
}

/** Gathers changes, in their order, while those before them are on their way. */
export class ChangeGroups<Build> {
  /** The group that has not begun, if nothing was queued after it. */
  #open: WaitingChange<Build>[] | undefined;

  /** @param queue lets a group have its turn; rejects if there is none any more */
  constructor(
    private readonly queue: (turn: () => Promise<void>) => Promise<void>,
    private readonly carryOut: (group: readonly WaitingChange<Build>[]) => Promise<void>,
  ) {}

  /** Settles when the change is active, or cannot be. */
  add(build: Build, context: Partial<ActionContext>): Promise<Applied> {
    return new Promise((resolve, reject) => {
      const change = { build, context, resolve, reject };
      const open = this.#open ?? this.#begin();
      open.push(change);
      if (open.length >= MOST_CHANGES) this.#open = undefined;
    });
  }

  /** Later changes follow another kind of change. */
  close(): void {
    this.#open = undefined;
  }

  #begin(): WaitingChange<Build>[] {
    const group: WaitingChange<Build>[] = [];
    const turn = async (): Promise<void> => {
      if (this.#open === group) this.#open = undefined;
      await this.carryOut(group);
    };
    this.queue(turn).catch((error: unknown) => {
      // It may not have had its turn: later changes must not wait for it.
      if (this.#open === group) this.#open = undefined;
      for (const { reject } of group) reject(error);
    });
    this.#open = group;
    return group;
  }
}
