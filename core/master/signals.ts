import type { Log } from '../module/services.js';
import type { Master } from './master.js';

export interface SignalOptions {
  readonly log: Log;
  readonly daemon: boolean;
  /** Called once the server has ended. */
  readonly ended: () => void;
}

const LONG_MS = 2 ** 30;

/** Does on each signal what nginx's master does on it. */
export function obeySignals(master: Master, { log, daemon, ended }: SignalOptions): void {
  const on = (signal: NodeJS.Signals, what: string, act: () => void | Promise<void>): void => {
    process.on(signal, () => {
      log.write('notice', `signal ${signal} received, ${what}`);
      void act();
    });
  };
  // A process without workers would end by itself: listening for signals does not keep it.
  setInterval(() => undefined, LONG_MS);
  const stop = (): Promise<void> => master.stop().then(ended);
  on('SIGTERM', 'exiting', stop);
  on('SIGINT', 'exiting', stop);
  on('SIGQUIT', 'shutting down', () => master.quit().then(ended));
  on('SIGHUP', 'reconfiguring', () => master.reload());
  on('SIGUSR1', 'reopening logs', () => master.reopenLogs());
  on('SIGUSR2', 'ignored: a running server is changed by reload and API, its program by a restart', () => undefined);
  // In the foreground it only means that the terminal's window has another size.
  if (daemon) on('SIGWINCH', 'ending the workers', () => master.endWorkers());
}
