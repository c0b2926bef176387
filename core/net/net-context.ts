import type { Log } from '../contract/log.js';
import type { Admission } from './admission.js';
import type { ReadBuffers } from './buffers.js';
import type { Clock } from './clock.js';
import type { ControlListeners } from './control-listeners.js';
import type { IdleClients } from './idle-clients.js';
import type { TimerWheel } from './timers.js';
import type { Transport } from './transport/transport.js';

/** Shared parts of the connections of one thread, of any protocol. */
export interface NetContext {
  readonly clock: Clock;
  readonly timers: TimerWheel;
  readonly buffers: ReadBuffers;
  /** Of connections to come. */
  readonly transport: Transport;
  readonly log: Log;
  readonly idleClients: IdleClients;
  readonly admission: Admission;
  /** Addresses that members must not have. */
  readonly controlListeners: ControlListeners;
}
