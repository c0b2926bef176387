import { TimeIsOver, within } from '../changes/time-limit.js';
import type { Lifecycle } from '../contract/manifest.js';
import type { Log } from '../contract/log.js';
import type { ServerInfo } from '../contract/server-info.js';
import type { LoopGuard } from './loop-guard.js';
import type { ModuleTasks } from './module-tasks.js';
import { errorOf, stackOf } from '../contract/thrown.js';

/** Longest `start` of a module, in milliseconds: the server, or the reload, waits for it. */
const START_MS = 10_000;
/** Longest `stop` of a module, in milliseconds: a server that ends waits for it. */
const STOP_MS = 5000;

/** Resources of one module, from just before its `start` until it has stopped. */
export interface Belonging {
  begin?(): void;
  /** Also without {@link begin}. */
  close(): void;
}

/** Start and end of one module's object. Each happens once at most, and a module that has been stopped never starts. */
export class ModuleLife {
  #state: 'made' | 'started' | 'stopped' = 'made';
  #role: ServerInfo['role'] | undefined;

  /**
   * @param guard undefined: its code has no endless loops, it comes with srv
   * @param log the server's, without the module's name
   */
  constructor(
    private readonly name: string,
    private readonly hooks: Lifecycle,
    private readonly guard: LoopGuard | undefined,
    private readonly tasks: ModuleTasks,
    private readonly belongings: readonly Belonging[],
    private readonly log: Log,
  ) {}

  /**
   * @param former what the object that it replaces has handed over
   * @throws Error with the name of the module, when `start` fails or takes too long; the log has the stack. {@link stop} cleans up then.
   */
  async start(role: ServerInfo['role'], former?: unknown): Promise<void> {
    if (this.#state !== 'made') return;
    this.#state = 'started';
    this.#role = role;
    this.tasks.open();
    for (const belonging of this.belongings) belonging.begin?.();
    try {
      const starting: unknown = this.hooks.start?.(role, former);
      if (starting !== undefined) {
        const limited = within(START_MS, Promise.resolve(starting));
        await (this.guard === undefined || role === 'worker' ? limited : this.guard.during(limited));
      }
      this.tasks.begin();
    } catch (error) {
      throw new Error(this.#explain('start', error, START_MS), { cause: error });
    }
  }

  get isStarted(): boolean {
    return this.#state === 'started';
  }

  /** State of the object for the one that replaces it. Undefined if that fails, which is logged: its code is not the one that is changed. */
  handOver(): unknown {
    try {
      return this.hooks.handOver?.();
    } catch (error) {
      this.log.write('error', `module "${this.name}" hands nothing over: ${stackOf(error)}`);
      return undefined;
    }
  }

  /** Another object serves in its place, apart from requests under way: its repeated tasks end. {@link stop} follows. */
  retire(): void {
    this.tasks.retire();
  }

  /** The module does not start: what its constructor has opened is closed. No effect on one that has started. */
  discard(): void {
    if (this.#state === 'made') this.leave();
  }

  /** Calls no `stop`: it is not to be trusted. The module's timers and tasks end. */
  leave(): void {
    this.#state = 'stopped';
    void this.tasks.close();
    this.#closeBelongings();
  }

  /** Ends the tasks of the module and the module itself, if it was started. Never rejects: what fails is logged. */
  async stop(): Promise<void> {
    const wasStarted = this.#state === 'started';
    this.#state = 'stopped';
    if (!wasStarted) return;
    try {
      const limited = within(STOP_MS, Promise.all([this.tasks.close(), settled(() => this.hooks.stop?.())]));
      await (this.guard === undefined || this.#role === 'worker' ? limited : this.guard.during(limited));
    } catch (error) {
      this.log.write('alert', this.#explain('stop', error, STOP_MS));
    }
    this.#closeBelongings();
  }

  #closeBelongings(): void {
    for (const belonging of this.belongings) belonging.close();
  }

  #explain(step: 'start' | 'stop', error: unknown, ms: number): string {
    if (error instanceof TimeIsOver) return `module "${this.name}" did not ${step} within ${ms / 1000} s`;
    const failed = `module "${this.name}" failed to ${step}`;
    this.log.write('crit', `${failed}: ${stackOf(error)}`);
    return `${failed}: ${errorOf(error).message}`;
  }
}

/** The result or exception of `step`, as a promise. */
async function settled(step: () => unknown): Promise<void> {
  await step();
}
