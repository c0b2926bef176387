import { EventBudget } from '../api/event-budget.js';
import { droppedEvents, eventMessage, type EventMessage } from '../api/event-message.js';
import { Events } from '../contract/events.js';

/** Carries the events of a worker to the master, which gives them their ids. */
export class WorkerEvents extends Events {
  readonly #budget = new EventBudget((count) => this.tell(droppedEvents(count)));

  constructor(private readonly tell: (message: EventMessage) => void) {
    super();
  }

  publish(...event: Parameters<Events['publish']>): void {
    const message = eventMessage(...event);
    if (this.#budget.admits()) this.tell(message);
  }

  forget(type: string, subject: readonly string[]): void {
    this.tell({ type, subject, data: undefined });
  }
}
