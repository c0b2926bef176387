import { spawn } from 'node:child_process';
import type { Log } from '../contract/log.js';

/** A watchdog gets two messages in the time that it allows. */
const TIMES = 2;
const MICROSECONDS = 1000;

/**
 * Notifies systemd of the state of the server (sd_notify). By the program `systemd-notify`: Node.js has no sockets of that kind. The unit needs
 * `NotifyAccess=all` for it.
 */
export class ServiceManager {
  /** Messages arrive in their order. */
  #turn: Promise<void> = Promise.resolve();
  #isWatched = false;
  #hasFailed = false;

  /** Undefined: there is no service manager. */
  static find(log: Log): ServiceManager | undefined {
    return process.env['NOTIFY_SOCKET'] === undefined ? undefined : new ServiceManager(log);
  }

  private constructor(private readonly log: Log) {}

  /** Another process than systemd has started is the main one from now on. Resolves when systemd was notified: the other one may end then. */
  async mainProcess(pid: number): Promise<void> {
    this.#tell(`MAINPID=${pid}`);
    await this.#turn;
  }

  /** It serves, and so do its helpers. */
  ready(status: string): void {
    this.#tell('READY=1', `STATUS=${status}`);
    const allowed = Number(process.env['WATCHDOG_USEC']) / MICROSECONDS;
    // As long as the main thread works: it is what the timer runs in.
    if (this.#isWatched || !(allowed > 0)) return;
    this.#isWatched = true;
    setInterval(() => this.#tell('WATCHDOG=1'), allowed / TIMES).unref();
  }

  /** {@link ready} follows, also when it fails. */
  reloading(): void {
    this.#tell('RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`);
  }

  stopping(): void {
    this.#tell('STOPPING=1', 'STATUS=finishes the requests in progress');
  }

  #tell(...lines: readonly string[]): void {
    this.#turn = this.#turn.then(
      () =>
        new Promise((resolve) => {
          const child = spawn('systemd-notify', lines, { stdio: 'ignore' });
          child.once('error', (error) => resolve(this.#fail(error.message)));
          child.once('exit', (code) => resolve(code === 0 ? undefined : this.#fail(`exit code ${code}`)));
        }),
    );
  }

  #fail(reason: string): void {
    if (!this.#hasFailed) this.log.write('error', `systemd-notify failed (${reason}): systemd does not learn of the server`);
    this.#hasFailed = true;
  }
}
