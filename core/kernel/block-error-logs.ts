import type { BlockScope } from '../contract/scope.js';
import type { Directives } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';
import type { ErrorLog, ErrorLogSinks, ErrorLogTarget } from '../log/error-log.js';
import { LogTargetError } from '../log/log-file-error.js';

/** The `error_log` lines of blocks within an engine. */
export class BlockErrorLogs {
  readonly #sinks = new WeakMap<Directive, ErrorLogSinks>();

  constructor(private readonly log: ErrorLog) {}

  of(block: Directive | undefined): ErrorLogSinks | undefined {
    return block && this.#sinks.get(block);
  }

  /** Opens the logs of a block. They are closed when the block is no longer active. @throws ConfigError */
  open(
    block: Directive,
    targets: readonly ErrorLogTarget[],
    scope: Pick<BlockScope<Directives, string, never>, 'fail' | 'register'>,
  ): void {
    try {
      const sinks = this.log.open(targets);
      this.#sinks.set(block, sinks);
      const ready = sinks.ready.catch((error: Error) => scope.fail(error.message, 'error_log'));
      scope.register({ ready: ready.then(() => undefined), abort: () => sinks.close(), release: () => sinks.close() });
    } catch (error) {
      if (!(error instanceof LogTargetError)) throw error;
      scope.fail(error.message, 'error_log');
    }
  }
}
