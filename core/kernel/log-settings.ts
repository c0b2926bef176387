import { ownDirectives } from '../config/conf.js';
import { ConfigErrors, errorAt } from '../config/errors.js';
import type { ErrorLog, ErrorLogSinks, ErrorLogTarget } from '../log/error-log.js';
import { LogTargetError } from '../log/log-file-error.js';
import type { Change, Follower, Prepared } from '../config/change.js';

/** Keeps the error log where the main level's `error_log` lines say. */
export class LogSettings implements Follower {
  #targets: readonly ErrorLogTarget[] | undefined;

  /** @param fallback where it goes without an `error_log` line */
  constructor(
    private readonly log: ErrorLog,
    private readonly fallback: ErrorLogTarget,
  ) {}

  async prepare({ after, main }: Change): Promise<Prepared> {
    const targets = main.error_log.length > 0 ? main.error_log : [this.fallback];
    const sinks = sameTargets(targets, this.#targets) ? undefined : await this.#open(targets, after.root);
    return {
      commit: () => {
        this.#targets = targets;
        if (sinks) this.log.configure(sinks);
      },
      abort: () => sinks?.close(),
    };
  }

  async #open(targets: readonly ErrorLogTarget[], root: Change['after']['root']): Promise<ErrorLogSinks> {
    let sinks: ErrorLogSinks | undefined;
    try {
      sinks = this.log.open(targets);
      await sinks.ready;
      return sinks;
    } catch (error) {
      sinks?.close();
      const [line] = ownDirectives(root, 'error_log');
      if (!(error instanceof LogTargetError) || !line) throw error;
      throw new ConfigErrors([errorAt(line, error.message, line.args[0])]);
    }
  }
}

function sameTargets(a: readonly ErrorLogTarget[], b: readonly ErrorLogTarget[] | undefined): boolean {
  return (
    a.length === b?.length &&
    a.every(({ path, level, json = false }, i) => path === b[i]?.path && level === b[i]?.level && json === (b[i]?.json ?? false))
  );
}
