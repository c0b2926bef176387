import type { Generations } from '../../config/generations.js';
import type { Log } from '../../contract/log.js';
import type { Admission, ConnectionCounters } from '../../net/admission.js';
import type { ReadBuffers } from '../../net/buffers.js';
import type { Clock } from '../../net/clock.js';
import type { ControlListeners } from '../../net/control-listeners.js';
import type { Dialer } from '../../net/dialer.js';
import type { IdleClients } from '../../net/idle-clients.js';
import type { ListenerDirectory } from '../../net/listener-directory.js';
import type { NetContext } from '../../net/net-context.js';
import type { TimerWheel } from '../../net/timers.js';
import type { Transport } from '../../net/transport/transport.js';

/** Shared parts of the sessions of one thread, also with the connections of other engines. */
export type SharedContext = Omit<StreamContext, 'generations' | 'idleClients'>;

/** Shared parts of all sessions of one thread. */
export class StreamContext implements NetContext {
  readonly clock: Clock;
  readonly timers: TimerWheel;
  readonly buffers: ReadBuffers;
  readonly log: Log;
  readonly figures: ConnectionCounters;
  readonly admission: Admission;
  /** Connections of all engines. */
  readonly listeners: ListenerDirectory;
  readonly controlListeners: ControlListeners;

  constructor(
    private readonly shared: SharedContext,
    readonly generations: Generations,
  ) {
    this.clock = shared.clock;
    this.timers = shared.timers;
    this.buffers = shared.buffers;
    this.log = shared.log;
    this.figures = shared.figures;
    this.admission = shared.admission;
    this.listeners = shared.listeners;
    this.controlListeners = shared.controlListeners;
  }

  get transport(): Transport {
    return this.shared.transport;
  }
  get dialer(): Dialer {
    return this.shared.dialer;
  }
  get idleClients(): IdleClients {
    return this.admission.idleClients;
  }

  nextConnectionId(): number {
    return this.shared.nextConnectionId();
  }
}
