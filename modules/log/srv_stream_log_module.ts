import { accessLogArgs, AccessLogs, logFileCacheArgs, logFormatArgs, logJsonArgs, type LogEngine } from '../../core/toolkit/access-log.js';
import { streamModule } from '../../core/contract/manifest.js';
import { Log } from '../../core/contract/log.js';
import { LogFiles } from '../../core/contract/log-files.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { directive } from '../../core/contract/spec.js';
import type { StreamHandlers, StreamScope, StreamSession } from '../../core/contract/stream.js';

const ANYWHERE = ['stream', 'stream server'] as const;

const directives = {
  log_format: directive({
    in: ['stream'],
    args: logFormatArgs<StreamSession>(),
    many: true,
    identity: ({ args }) => args[0]?.text ?? '',
    dynamic: true,
    doc: 'Defines a format of access logs.',
  }),
  log_json: directive({
    in: ['stream'],
    args: logJsonArgs,
    block: 'entries',
    many: true,
    identity: ({ args }) => args[0]?.text ?? '',
    doc: 'Defines a format of access logs whose lines are JSON objects. Entries are keys and values: `status $status;`. Numbers of variables such as `$status` and `$request_time` are numbers, variables without a value are null.',
  }),
  access_log: directive({
    in: ANYWHERE,
    args: accessLogArgs<StreamSession>(),
    many: true,
    default: 'off',
    dynamic: true,
    doc: 'Writes a line for every session when it has ended.',
  }),
  open_log_file_cache: directive({
    in: ANYWHERE,
    args: logFileCacheArgs,
    default: 'off',
    doc: 'Keeps log files open whose names contain variables: at most `max`, as long as each gets `min_uses` lines in the time of `inactive`. After `valid` it is checked that the file still has its name.',
  }),
};

const ENGINE: LogEngine<StreamSession> = {
  formats: new Map(),
  during: 'while logging session',
  report: (log, text, session) => log.write('crit', text, session),
};

/** Access logs of streams (ngx_stream_log_module). */
@streamModule({ name: 'srv_stream_log_module', api: 1, directives })
export class StreamLog {
  readonly #logs: AccessLogs<StreamSession>;

  constructor(files: LogFiles, info: ServerInfo, log: Log) {
    this.#logs = new AccessLogs(files, info, log, ENGINE);
  }

  compile(scope: StreamScope<typeof directives>): StreamHandlers | undefined {
    this.#logs.check(scope);
    const log = this.#logs.compile(scope);
    return log && { log };
  }
}
