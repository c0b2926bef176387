import { eventMessage, type EventMessage } from '../control/event-message.js';
import { Events } from '../module/events.js';

/** Carries the events of a worker to the master, which gives them their ids. */
export class WorkerEvents extends Events {
  constructor(private readonly tell: (message: EventMessage) => void) {
    super();
  }

  publish(...event: Parameters<Events['publish']>): void {
    this.tell(eventMessage(...event));
  }

  forget(type: string, subject: readonly string[]): void {
    this.tell({ type, subject, data: undefined });
  }
}
