import { fork, type ChildProcess } from 'node:child_process';
import { closeSync } from 'node:fs';
import { within } from '../changes/time-limit.js';
import type { Events } from '../contract/events.js';
import type { Log } from '../contract/log.js';
import type { ControlListener } from '../net/control-listeners.js';
import { HangWatch } from './hang-watch.js';
import { LIMIT_BACKTRACKING } from '../kernel/linear-patterns.js';
import { HelperAccess } from './helper-access.js';
import type { MasterParent } from './master-parent.js';
import type { FromHelper, HelperSocket, HelperStart, ToHelper } from '../helper/helper-start.js';

const HELPER_FILE = new URL('../helper/main.js', import.meta.url);
const BROKER_FILE = new URL('../helper/broker-main.js', import.meta.url);
/** Numbers of the standard streams and of the channel come first. */
const FIRST_SOCKET = 4;
/** Time limit for a helper to send its sockets. */
const SOCKETS_MS = 5000;
const FIRST_DELAY_MS = 200;
const LONGEST_DELAY_MS = 10_000;
/** A helper that lived as long did not die at its start. */
const STEADY_MS = 10_000;
/** Time limit for a helper to end by itself. */
const STOP_MS = 3000;
/** And what its calls may take in addition. */
const QUIT_MS = 3000;

/** How the first start of a helper went. */
export interface FirstStart {
  readonly name: string;
  /** Where it listens. */
  readonly addresses: readonly string[];
  /** Why it cannot do its work. It is started again and again, for as long as it cannot. */
  readonly reasons: readonly string[];
}

/** A socket of a helper, and a handle of Node.js for it in this process. */
export interface SentSocket {
  readonly key: string;
  readonly handle: { readonly fd: number; close(): void };
}

/** Surroundings of a helper. */
export interface HelperAround {
  readonly parent: MasterParent | undefined;
  /** Sockets that its first process is born with. */
  readonly inherited: readonly HelperSocket[];
}

/** One `helper` line: a child process that is started again when it ends, and ends with this one. */
export class Helper {
  readonly name: string;
  /** Resolves when it does its work for the first time, or has said why it cannot. */
  readonly firstStart: Promise<FirstStart>;
  #settle: (start: FirstStart) => void = () => undefined;
  #child: ChildProcess | undefined;
  #startedAt = 0;
  /** Where it listens, or is about to. Those of a process that has ended stay until the next one has some. */
  listeners: readonly ControlListener[] = [];
  #delay = FIRST_DELAY_MS;
  #timer: NodeJS.Timeout | undefined;
  /** How often it was started again and works. */
  restarts = 0;
  #stopping = false;
  readonly #access: HelperAccess;
  /** Sockets of its next process. */
  #inherited: readonly HelperSocket[];
  /** Sockets that it has sent. */
  #sent: { readonly sockets: SentSocket[]; readonly all: PromiseWithResolvers<void> } | undefined;
  /** Why it is started again, until it works. */
  #failure: string | undefined;
  readonly #watch = new HangWatch({
    ask: () => this.#tell({ kind: 'ping' }),
    folder: () => (this.pid === undefined ? undefined : `/proc/${this.pid}`),
    onHang: (reason) => {
      this.log.write('alert', `${this.name} (process ${this.pid}) is ended: ${reason}`);
      this.#child?.kill('SIGKILL');
    },
  });

  constructor(
    readonly start: HelperStart,
    private readonly log: Log,
    private readonly events: Events,
    /** It listens there from now on, as {@link listeners} says too. */
    private readonly onListens: () => void,
    { parent, inherited }: HelperAround,
  ) {
    this.name = `helper ${start.kind}`;
    this.#inherited = inherited;
    this.#access = new HelperAccess(parent, start.conf);
    this.firstStart = new Promise((resolve) => (this.#settle = resolve));
  }

  /** Starts the process. That it is ready is its own affair: traffic does not wait for a helper. */
  run(): void {
    if (this.#stopping) return;
    // The channel is its lifeline: it closes when this process ends, however it ends, and the helper with it.
    const inherited = this.#inherited;
    this.#inherited = [];
    const { kind, isShipped } = this.start;
    const child = fork(isShipped && kind === 'broker' ? BROKER_FILE : HELPER_FILE, [kind], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc', ...inherited.map(({ descriptor }) => descriptor)],
      serialization: 'advanced',
      execArgv: [...process.execArgv, LIMIT_BACKTRACKING, '--enable-source-maps'],
    });
    for (const { descriptor } of inherited) closeSync(descriptor);
    this.#child = child;
    this.#startedAt = Date.now();
    child.on('error', (error) => {
      // For a running process it concerns a message or a signal, and its end is reported by `exit`.
      if (child.pid === undefined) this.#failed(child, `cannot be started: ${error.message}`);
    });
    child.on('message', (message: FromHelper, handle: unknown) => this.#take(message, child, handle));
    child.once('exit', (code, signal) => {
      this.#failed(child, `(process ${child.pid}) exited ${signal ? `on signal ${signal}` : `with code ${code}`}`);
    });
    // Descriptors may be short, or Node.js itself may be gone for a moment, while it is replaced.
    if (child.pid === undefined) return;
    const sockets = inherited.map(({ key }, at) => ({ key, descriptor: FIRST_SOCKET + at }));
    this.#tell({ kind: 'start', start: { ...this.start, sockets }, rights: this.#access.rights });
    this.log.write('notice', `start ${this.name}, process ${child.pid}`);
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Lets it read its configuration again; one that waits to be started again is started now. */
  reload(): void {
    if (this.#child) return this.#tell({ kind: 'reload', files: this.#access.rights.files });
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

  /** Its open sockets: handles that are to be closed. */
  async sockets(): Promise<readonly SentSocket[]> {
    const sent = (this.#sent = { sockets: [], all: Promise.withResolvers<void>() });
    if (!this.#child?.connected || this.start.kind === 'broker') return [];
    this.#tell({ kind: 'openSockets' });
    await within(SOCKETS_MS, sent.all.promise).catch(() => undefined);
    return sent.sockets;
  }

  /** Lets it finish its calls, and ends it. */
  async quit(): Promise<void> {
    this.#stopping = true;
    this.#tell({ kind: 'quit' });
    const child = this.#child;
    if (child?.pid !== undefined && child.exitCode === null && child.signalCode === null)
      await within(QUIT_MS, new Promise((resolve) => child.once('exit', resolve))).catch(() => undefined);
    await this.stop();
  }

  /** Asks it to end and waits; one that does not end is killed. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#access.close();
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

  #take(message: FromHelper, child: ChildProcess, handle: unknown): void {
    if (message.kind === 'socket') return void this.#access.send(child, message.id, message.request);
    if (message.kind === 'release') return this.#access.release(message.key);
    if (message.kind === 'listens') return this.#listens(message.listeners);
    if (message.kind === 'pong') this.#watch.responded();
    else if (message.kind === 'openSocket') this.#sent?.sockets.push({ key: message.key, handle: handle as SentSocket['handle'] });
    else if (message.kind === 'openSockets') this.#sent?.all.resolve();
    else this.#settle({ name: this.name, addresses: [], reasons: [], ...message });
    if (message.kind !== 'ready' || this.#failure === undefined) return;
    this.restarts++;
    this.#tellEvent('helper.restarted', this.#failure);
    this.#failure = undefined;
  }

  #listens(listeners: readonly ControlListener[]): void {
    this.listeners = listeners;
    this.onListens();
    this.#tell({ kind: 'known' });
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
