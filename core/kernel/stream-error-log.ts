import { ErrorLog } from '../log/error-log.js';
import { BlockErrorLogs } from './block-error-logs.js';
import { streamModule } from '../contract/manifest.js';
import { directive } from '../contract/spec.js';
import type { StreamHandlers, StreamScope } from '../contract/stream.js';
import { mainDirectives } from './core-directives.js';

const directives = { error_log: directive({ ...mainDirectives.error_log, in: ['stream', 'stream server'] }) };

/** `error_log` of streams and their servers. */
@streamModule({ name: 'srv_stream_error_log_module', api: 1, directives })
export class StreamErrorLog {
  /** Of `stream` and its servers. */
  readonly #logs: BlockErrorLogs;

  constructor(log: ErrorLog) {
    this.#logs = new BlockErrorLogs(log);
    log.scopeSessionsBy(({ scope }) => this.#logs.of(scope.directive));
  }

  compile(scope: StreamScope<typeof directives>): StreamHandlers | undefined {
    const { directive: server, conf } = scope;
    if (server !== undefined && conf.error_log.length > 0) this.#logs.open(server, conf.error_log, scope);
    return undefined;
  }
}
