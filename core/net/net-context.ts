import type { Log } from '../module/services.js';
import type { ReadBuffers } from './buffers.js';
import type { Clock } from './clock.js';
import type { IdleClients } from './idle-clients.js';
import type { TimerWheel } from './timers.js';

/** What the connections of one thread share, whatever protocol they speak. */
export interface NetContext {
  readonly clock: Clock;
  readonly timers: TimerWheel;
  readonly buffers: ReadBuffers;
  readonly log: Log;
  readonly idleClients: IdleClients;
}
