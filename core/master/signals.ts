import type { Log } from '../contract/log.js';
import type { ServiceManager } from './service-manager.js';
import type { Master } from './master.js';

export interface SignalOptions {
  readonly log: Log;
  readonly daemon: boolean;
  /** Called once the server has ended. */
  readonly ended: () => void;
  readonly manager: ServiceManager | undefined;
}

/** For the service manager. */
export const SERVES = 'serves';

const LONG_MS = 2 ** 30;

/** Does on each signal what nginx's master does on it. */
export function obeySignals(master: Master, { log, daemon, ended, manager }: SignalOptions): void {
  const on = (signal: NodeJS.Signals, what: string, act: () => void | Promise<void>): void => {
    process.on(signal, () => {
      log.write('notice', `signal ${signal} received, ${what}`);
      void act();
    });
  };
  // A process without workers would end by itself: listening for signals does not keep it.
  setInterval(() => undefined, LONG_MS);
  const stop = (): Promise<void> => {
    manager?.stopping();
    return master.stop().then(ended);
  };
  const quit = (): Promise<void> => {
    manager?.stopping();
    return master.quit().then(ended);
  };
  const reload = async (): Promise<void> => {
    manager?.reloading();
    await master.reload();
    if (!master.ending) manager?.ready(SERVES);
  };
  on('SIGTERM', 'exiting', stop);
  on('SIGINT', 'exiting', stop);
  on('SIGQUIT', 'shutting down', quit);
  on('SIGHUP', 'reconfiguring', reload);
  on('SIGUSR1', 'reopening logs', () => master.reopenLogs());
  on('SIGUSR2', 'changing binary', () => master.upgrade().then((waitsForIdle) => (waitsForIdle ? ended() : undefined)));
  // In the foreground it only means that the terminal's window has another size.
  if (daemon) on('SIGWINCH', 'ending the workers', () => master.endWorkers());
}
