/** Figures of the node for unit tests. */
import type { WorkerStatistics } from '../core/contract/server-status.js';
import { Statistics } from '../core/contract/statistics.js';

/** Figures that a test sets; zero where it does not. */
export class FakeStatistics extends Statistics {
  accepted = 0;
  handled = 0;
  requests = 0;
  active = 0;
  reading = 0;
  writing = 0;
  waiting = 0;
  handshakes = 0;
  handshakesFailed = 0;
  sessionReuses = 0;
  /** By place. */
  readonly workers: Partial<WorkerStatistics>[] = [];

  ofWorker(place: number): WorkerStatistics {
    return { accepted: 0, handled: 0, requests: 0, active: 0, reading: 0, writing: 0, ...this.workers[place] };
  }
}
