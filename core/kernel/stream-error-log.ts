import { ErrorLog, type ErrorLogSinks } from '../log/error-log.js';
import { LogTargetError } from '../log/log-file-error.js';
import { streamModule } from '../contract/manifest.js';
import { directive } from '../contract/spec.js';
import type { StreamHandlers, StreamScope } from '../contract/stream.js';
import { mainDirectives } from './core-directives.js';

const directives = { error_log: directive({ ...mainDirectives.error_log, in: ['stream', 'stream server'] }) };

/** `error_log` of streams and their servers. */
@streamModule({ name: 'srv_stream_error_log_module', api: 1, directives })
export class StreamErrorLog {
  /** By the server whose sessions they are for. */
  readonly #sinks = new WeakMap<object, ErrorLogSinks>();

  constructor(private readonly log: ErrorLog) {
    log.scopeSessionsBy(({ scope: { directive: server } }) => server && this.#sinks.get(server));
  }

  compile(scope: StreamScope<typeof directives>): StreamHandlers | undefined {
    const { directive: server, conf } = scope;
    if (server === undefined || conf.error_log.length === 0) return undefined;
    try {
      const sinks = this.log.open(conf.error_log);
      this.#sinks.set(server, sinks);
      const ready = sinks.ready.catch((error: Error) => scope.fail(error.message, 'error_log'));
      scope.register({ ready: ready.then(() => undefined), abort: () => sinks.close(), release: () => sinks.close() });
    } catch (error) {
      if (!(error instanceof LogTargetError)) throw error;
      scope.fail(error.message, 'error_log');
    }
    return undefined;
  }
}
