/** Events for unit tests. */
import { eventMessage } from '../core/api/event-message.js';
import { Events } from '../core/contract/events.js';

export interface SeenEvent {
  readonly type: string;
  readonly subject: readonly string[];
  /** As JSON has it. */
  readonly data: unknown;
}

/** Keeps the events of a module. Invalid types and data are rejected as in a server. */
export class FakeEvents extends Events {
  readonly published: SeenEvent[] = [];
  /** Subjects that the module has forgotten. */
  readonly forgotten: Omit<SeenEvent, 'data'>[] = [];

  publish(...event: Parameters<Events['publish']>): void {
    const { type, subject, data = 'null' } = eventMessage(...event);
    this.published.push({ type, subject, data: JSON.parse(data) as unknown });
  }

  forget(type: string, subject: readonly string[]): void {
    this.forgotten.push({ type, subject });
  }
}
