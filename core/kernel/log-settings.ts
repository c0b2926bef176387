import { ownDirectives } from '../config/conf.js';
import { ConfigErrors, errorAt } from '../config/errors.js';
import type { ErrorLog, ErrorLogTarget } from '../log/error-log.js';
import { LogFileError } from '../log/log-file-error.js';
import type { Change, Follower, Prepared } from './follower.js';

/** Keeps the error log where the main level's `error_log` lines say. */
export class LogSettings implements Follower {
  #targets: readonly ErrorLogTarget[] | undefined;

  /** @param fallback where it goes without an `error_log` line */
  constructor(
    private readonly log: ErrorLog,
    private readonly fallback: ErrorLogTarget,
  ) {}

  prepare({ after, main }: Change): Prepared {
    const targets = main.error_log.length > 0 ? main.error_log : [this.fallback];
    const sinks = sameTargets(targets, this.#targets) ? undefined : this.#open(targets, after.root);
    return {
      commit: () => {
        this.#targets = targets;
        if (sinks) this.log.configure(sinks);
      },
      abort: () => sinks?.close(),
    };
  }

  #open(targets: readonly ErrorLogTarget[], root: Change['after']['root']): ReturnType<ErrorLog['open']> {
    try {
      return this.log.open(targets);
    } catch (error) {
      const [line] = ownDirectives(root, 'error_log');
      if (!(error instanceof LogFileError) || !line) throw error;
      throw new ConfigErrors([errorAt(line, error.message, line.args[0])]);
    }
  }
}

function sameTargets(a: readonly ErrorLogTarget[], b: readonly ErrorLogTarget[] | undefined): boolean {
  return a.length === b?.length && a.every(({ path, level }, i) => path === b[i]?.path && level === b[i]?.level);
}
