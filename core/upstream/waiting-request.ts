import type { Timed } from '../net/timers.js';
import type { Choice } from './choice.js';
import type { Peer } from './peer.js';

/** User of the queue of an upstream. Exactly one of the two is called, unless the request leaves before. */
export interface QueueUser {
  /** @param peer a member with one more request */
  onTurn(peer: Peer): void;
  /** The time of the queue is over. */
  onQueueTimeout(): void;
}

/** A request in the queue of an upstream. */
export class WaitingRequest implements Timed {
  deadline = 0;
  slot = -1;
  before: WaitingRequest | undefined = undefined;
  next: WaitingRequest | undefined = undefined;

  constructor(
    private readonly queue: { leave(waiting: WaitingRequest): void },
    readonly choice: Choice | undefined,
    readonly user: QueueUser,
    /** 0: it is not in the order of waiting requests. */
    readonly ticket: number,
  ) {}

  leave(): void {
    this.queue.leave(this);
  }

  onDeadline(): void {
    this.queue.leave(this);
    this.user.onQueueTimeout();
  }
}
