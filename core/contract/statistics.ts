import type { WorkerStatistics } from './server-status.js';

/** Figures of this node over all workers (stub_status). */
export abstract class Statistics {
  abstract readonly accepted: number;
  abstract readonly handled: number;
  abstract readonly requests: number;
  abstract readonly active: number;
  abstract readonly reading: number;
  abstract readonly writing: number;
  abstract readonly waiting: number;
  /** TLS handshakes with clients: successful ones, failed ones, and the successful ones that resumed a session. */
  abstract readonly handshakes: number;
  abstract readonly handshakesFailed: number;
  abstract readonly sessionReuses: number;
  /** @param place see {@link ServerStatus.workers} */
  abstract ofWorker(place: number): WorkerStatistics;
}
