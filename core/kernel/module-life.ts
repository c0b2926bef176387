import { TimeIsOver, within } from '../control/time-limit.js';
import type { Lifecycle } from '../module/manifest.js';
import type { Log, ServerInfo } from '../module/services.js';
import type { LoopGuard } from './loop-guard.js';
import type { ModuleTasks } from './module-tasks.js';

/** Longest `start` of a module, in milliseconds: the server, or the reload, waits for it. */
const START_MS = 10_000;
/** Longest `stop` of a module, in milliseconds: a server that ends waits for it. */
const STOP_MS = 5000;

/** Start and end of one module's object. Each happens once at most, and a module that has been stopped never starts. */
export class ModuleLife {
  #state: 'made' | 'started' | 'stopped' = 'made';

  /**
   * @param guard undefined: its code has no endless loops, it comes with srv
   * @param log the server's, without the module's name
   */
  constructor(
    private readonly name: string,
    private readonly hooks: Lifecycle,
    private readonly guard: LoopGuard | undefined,
    private readonly tasks: ModuleTasks,
    private readonly log: Log,
  ) {}

  /** @throws Error with the name of the module, when `start` fails or takes too long; the log has the stack. {@link stop} cleans up then. */
  async start(role: ServerInfo['role']): Promise<void> {
    if (this.#state !== 'made') return;
    this.#state = 'started';
    this.tasks.open();
    try {
      const starting: unknown = this.hooks.start?.(role);
      if (starting === undefined) return;
      const limited = within(START_MS, Promise.resolve(starting));
      await (this.guard === undefined || role === 'worker' ? limited : this.guard.during(limited));
    } catch (error) {
      throw new Error(this.#explain('start', error, START_MS), { cause: error });
    }
  }

  /** Ends the tasks of the module and the module itself, if it was started. Never rejects: what fails is logged. */
  async stop(): Promise<void> {
    const wasStarted = this.#state === 'started';
    this.#state = 'stopped';
    if (!wasStarted) return;
    try {
      await within(STOP_MS, Promise.all([this.tasks.close(), settled(() => this.hooks.stop?.())]));
    } catch (error) {
      this.log.write('alert', this.#explain('stop', error, STOP_MS));
    }
  }

  #explain(step: 'start' | 'stop', error: unknown, ms: number): string {
    if (error instanceof TimeIsOver) return `module "${this.name}" did not ${step} within ${ms / 1000} s`;
    const [reason, stack] = error instanceof Error ? [error.message, error.stack] : [String(error), undefined];
    const failed = `module "${this.name}" failed to ${step}`;
    this.log.write('crit', `${failed}: ${stack ?? reason}`);
    return `${failed}: ${reason}`;
  }
}

/** What `step` returns or throws, as a promise. */
async function settled(step: () => unknown): Promise<void> {
  await step();
}
