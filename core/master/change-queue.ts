import type { TreeOperation } from '../config/tree.js';
import { ParticipantGone, type Participant } from '../control/participant.js';
import type { Instance } from '../kernel/instance.js';

/** Carries changes out in the master and every worker, one after the other. */
export class ChangeQueue {
  #last: Promise<unknown> = Promise.resolve();
  #transactions = 0;

  constructor(
    private readonly instance: Instance,
    private readonly participants: () => Iterable<Participant>,
  ) {}

  /** Runs `work` when no change is under way. */
  exclusively<T>(work: () => T | Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  apply(operations: () => readonly TreeOperation[]): Promise<void> {
    return this.exclusively(() => this.#apply(operations()));
  }

  async #apply(operations: readonly TreeOperation[]): Promise<void> {
    const tx = ++this.#transactions;
    const own = await this.instance.prepare(operations);
    const participants = [...this.participants()];
    const results = await Promise.allSettled(participants.map((participant) => participant.prepare(tx, operations)));
    const failed = results.find((result) => result.status === 'rejected' && !(result.reason instanceof ParticipantGone));
    if (failed?.status === 'rejected') {
      for (const participant of participants) participant.abort(tx);
      own.abort();
      throw failed.reason;
    }
    own.commit();
    await Promise.allSettled(participants.map((participant) => participant.commit(tx)));
  }
}
