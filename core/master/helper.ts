import { fork, type ChildProcess } from 'node:child_process';
import type { Events } from '../module/events.js';
import type { Log } from '../module/services.js';
import { HangWatch } from './hang-watch.js';
import type { FromHelper, HelperStart, ToHelper } from '../helper/helper-start.js';

const HELPER_FILE = new URL('../helper/main.js', import.meta.url);
const FIRST_DELAY_MS = 200;
const LONGEST_DELAY_MS = 10_000;
/** A helper that lived as long did not die at its start. */
const STEADY_MS = 10_000;
/** What a helper may take to end by itself. */
const STOP_MS = 3000;

/** How the first start of a helper went. */
export interface FirstStart {
  readonly name: string;
  /** Where it listens. */
  readonly addresses: readonly string[];
  /** Why it cannot do its work. It is started again and again, for as long as it cannot. */
  readonly reasons: readonly string[];
}

/** One `helper` line: a child process that is started again when it ends, and ends with this one. */
export class Helper {
  readonly name: string;
  /** Resolves when it does its work for the first time, or has said why it cannot. */
  readonly firstStart: Promise<FirstStart>;
  #settle: (start: FirstStart) => void = () => undefined;
  #child: ChildProcess | undefined;
  #startedAt = 0;
  #delay = FIRST_DELAY_MS;
  #timer: NodeJS.Timeout | undefined;
  /** How often it was started again and works. */
  restarts = 0;
  #stopping = false;
  /** Why it is started again, until it works. */
  #failure: string | undefined;
  readonly #watch = new HangWatch(
    () => this.#tell({ kind: 'ping' }),
    (reason) => {
      this.log.write('alert', `${this.name} (process ${this.pid}) is ended: ${reason}`);
      this.#child?.kill('SIGKILL');
    },
  );

  constructor(
    readonly start: HelperStart,
    private readonly log: Log,
    private readonly events: Events,
  ) {
    this.name = `helper ${start.kind}`;
    this.firstStart = new Promise((resolve) => (this.#settle = resolve));
  }

  /** Starts the process. That it is ready is its own affair: traffic does not wait for a helper. */
  run(): void {
    if (this.#stopping) return;
    // The channel is its lifeline: it closes when this process ends, however it ends, and the helper with it.
    const child = fork(HELPER_FILE, [], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      serialization: 'advanced',
      execArgv: [...process.execArgv, '--enable-source-maps'],
    });
    this.#child = child;
    this.#startedAt = Date.now();
    child.on('error', (error) => {
      // Of a process that runs it is about a message or a signal, and its end is told by `exit`.
      if (child.pid === undefined) this.#failed(child, `cannot be started: ${error.message}`);
    });
    child.on('message', (message: FromHelper) => this.#take(message));
    child.once('exit', (code, signal) => {
      this.#failed(child, `(process ${child.pid}) exited ${signal ? `on signal ${signal}` : `with code ${code}`}`);
    });
    // Descriptors may be short, or Node.js itself may be gone for a moment, while it is replaced.
    if (child.pid === undefined) return;
    this.#tell({ kind: 'start', start: this.start });
    this.log.write('notice', `start ${this.name}, process ${child.pid}`);
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Lets it read its configuration again; one that waits to be started again is started now. */
  reload(): void {
    if (this.#child) return this.#tell({ kind: 'reload' });
    clearTimeout(this.#timer);
    this.#delay = FIRST_DELAY_MS;
    this.run();
  }

  /** Finds out whether it hangs. One that does is killed, and started again. */
  watch(): void {
    if (this.#child && !this.#stopping) this.#watch.ask();
  }

  reopenLogs(): void {
    this.#tell({ kind: 'reopen' });
  }

  /** Tells it to end and waits until it has; one that does not is killed. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#watch.responded();
    clearTimeout(this.#timer);
    const child = this.#child;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    if (child.connected) child.disconnect();
    const kill = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await ended;
    clearTimeout(kill);
  }

  #take(message: FromHelper): void {
    if (message.kind === 'pong') this.#watch.responded();
    else this.#settle({ name: this.name, addresses: [], reasons: [], ...message });
    if (message.kind !== 'ready' || this.#failure === undefined) return;
    this.restarts++;
    this.#tellEvent('helper.restarted', this.#failure);
    this.#failure = undefined;
  }

  #tellEvent(type: string, reason: string): void {
    const { kind } = this.start;
    this.events.publish(type, { helper: kind, reason }, [kind]);
  }

  #tell(message: ToHelper): void {
    // One that is gone, or about to, is started again and reads everything then.
    if (this.#child?.connected) this.#child.send(message, () => undefined);
  }

  /** It has ended, or could not be started. */
  #failed(child: ChildProcess, what: string): void {
    if (this.#child !== child || this.#stopping) return;
    this.#child = undefined;
    this.#watch.responded();
    if (Date.now() - this.#startedAt >= STEADY_MS) this.#delay = FIRST_DELAY_MS;
    this.log.write('error', `${this.name} ${what}, it is started again in ${this.#delay} ms`);
    this.#settle({ name: this.name, addresses: [], reasons: [what] });
    this.#failure = what;
    this.#tellEvent('helper.failed', what);
    this.#timer = setTimeout(() => this.run(), this.#delay);
    this.#delay = Math.min(this.#delay * 2, LONGEST_DELAY_MS);
  }
}
