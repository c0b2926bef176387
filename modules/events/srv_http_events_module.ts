import { action, moreTime, type ActionContext } from '../../core/contract/control.js';
import { EventLog, type EventPage } from '../../core/contract/events.js';
import { httpModule } from '../../core/contract/manifest.js';

interface ReadParams {
  /** Id of the last event that the reader has; absent: all that are kept. */
  readonly after?: string;
  readonly limit: number;
  /** Milliseconds to wait for an event if there is none after that one. */
  readonly wait: number;
}

/** The events of this server for its control plane: changes of the configuration, states of members, restarts, certificates, and those of modules. */
@httpModule({ name: 'srv_http_events_module', api: 1, plane: 'data' })
export class EventActions {
  constructor(private readonly events: EventLog) {}

  @action('events.read')
  async read({ after, limit, wait }: ReadParams, context: ActionContext): Promise<EventPage> {
    if (after !== undefined && wait > 0) {
      await moreTime(context, wait);
      await this.events.wait(after, wait);
    }
    return this.events.read(after, limit);
  }
}
