import type { Follower } from '../config/change.js';
import type { Log } from '../contract/log.js';
import type { RunningModule } from './running-module.js';

/** After this time it is logged that requests still run replaced code, in milliseconds. */
const REPORT_MS = 60_000;

interface Former {
  readonly modules: readonly RunningModule[];
  readonly report: NodeJS.Timeout;
}

/** Modules that others have replaced, and that requests under way still use. */
export class FormerModules {
  readonly #waiting = new Set<Former>();

  /**
   * @param stop called when no request uses them any more
   * @param ms see {@link REPORT_MS}
   */
  constructor(
    private readonly log: Log,
    private readonly followers: Iterable<Pick<Follower, 'whenOver'>>,
    private readonly stop: (modules: readonly RunningModule[]) => void,
    private readonly ms = REPORT_MS,
  ) {}

  /** Their successors have just taken effect. */
  add(modules: readonly RunningModule[]): void {
    if (modules.length === 0) return;
    for (const { life } of modules) life.retire();
    const since = new Date();
    const report = setTimeout(() => this.#report(modules, since), this.ms).unref();
    const former = { modules, report };
    this.#waiting.add(former);
    let engines = 1;
    const over = (): void => {
      engines--;
      if (engines === 0 && this.#forget(former)) this.stop(modules);
    };
    for (const follower of this.followers) {
      if (follower.whenOver === undefined) continue;
      engines++;
      follower.whenOver(over);
    }
    over();
  }

  /** Names of modules that are still used. */
  get names(): readonly string[] {
    return [...this.#waiting].flatMap(({ modules }) => modules.map(({ name }) => name));
  }

  /** Modules that are still used. {@link stop} is not called for them. */
  take(): readonly RunningModule[] {
    const waiting = [...this.#waiting];
    return waiting.flatMap((former) => (this.#forget(former) ? former.modules : []));
  }

  #forget(former: Former): boolean {
    clearTimeout(former.report);
    return this.#waiting.delete(former);
  }

  #report(modules: readonly RunningModule[], since: Date): void {
    const names = modules.map(({ name }) => `"${name}"`).join(', ');
    const text = `requests that began before the reload of ${since.toISOString()} still run the old code of ${names}`;
    this.log.write('warn', `${text}: "worker_shutdown_timeout" limits their time`);
  }
}
