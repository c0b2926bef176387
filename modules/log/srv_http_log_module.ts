import { flag } from '../../core/contract/args.js';
import {
  accessLogArgs,
  AccessLogs,
  logFileCacheArgs,
  logFormatArgs,
  logJsonArgs,
  type LogEngine,
  type LogParts,
} from '../../core/toolkit/access-log.js';
import type { HttpHandlers, HttpRequest, LocationScope, VariableGetter } from '../../core/contract/http.js';
import { httpModule } from '../../core/contract/manifest.js';
import { Log } from '../../core/contract/log.js';
import { LogFiles } from '../../core/contract/log-files.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { directive } from '../../core/contract/spec.js';

const directives = {
  log_format: directive({
    in: ['http'],
    args: logFormatArgs<HttpRequest>(),
    many: true,
    identity: ({ args }) => args[0]?.text ?? '',
    dynamic: true,
    doc: 'Defines a format of access logs.',
  }),
  log_json: directive({
    in: ['http'],
    args: logJsonArgs,
    block: 'entries',
    many: true,
    identity: ({ args }) => args[0]?.text ?? '',
    dynamic: true,
    doc: 'Defines a format of access logs whose lines are JSON objects. Entries are keys and values: `status $status;`. Numbers of variables such as `$status` and `$request_time` are numbers, variables without a value are null.',
  }),
  access_log: directive({
    in: ['http', 'server', 'location', 'if in location', 'limit_except'],
    args: accessLogArgs<HttpRequest>(),
    many: true,
    default: 'logs/access.log combined',
    dynamic: true,
    doc: 'Writes a line for every request.',
  }),
  log_subrequest: directive({ in: ['http', 'server', 'location'], args: flag(), default: 'off', doc: 'Logs subrequests as well.' }),
  open_log_file_cache: directive({
    in: ['http', 'server', 'location'],
    args: logFileCacheArgs,
    default: 'off',
    doc: 'Keeps log files open whose names contain variables: at most `max`, as long as each gets `min_uses` lines in the time of `inactive`. After `valid` it is checked that the file still has its name.',
  }),
};

type HttpLogScope = LocationScope<typeof directives>;

const COMBINED = '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"';
/** Result of `context.parts` for the predefined format; spelled out because no directive carries it. */
const COMBINED_PARTS: LogParts<HttpRequest> = COMBINED.split(/(\$\w+)/).map(combinedPart);

const variable =
  (name: string): VariableGetter =>
  (request) =>
    request.variable(name);

/** The keys of the format `json`, and their variables. */
const JSON_KEYS: Readonly<Record<string, VariableGetter>> = {
  time: variable('time_iso8601'),
  remote_addr: variable('remote_addr'),
  remote_user: variable('remote_user'),
  method: variable('request_method'),
  uri: variable('request_uri'),
  protocol: variable('server_protocol'),
  host: variable('host'),
  server: variable('server_name'),
  status: variable('status'),
  body_bytes_sent: variable('body_bytes_sent'),
  request_length: variable('request_length'),
  request_time: variable('request_time'),
  upstream_addr: variable('upstream_addr'),
  upstream_status: variable('upstream_status'),
  upstream_response_time: variable('upstream_response_time'),
  referer: variable('http_referer'),
  user_agent: variable('http_user_agent'),
  request_id: variable('request_id'),
};

const ENGINE: LogEngine<HttpRequest> = {
  json: JSON_KEYS,
  formats: new Map([['combined', COMBINED_PARTS]]),
  during: 'while logging request',
  report: (log, text, request) => log.write('crit', text, request),
};

/** Access logs (ngx_http_log_module). */
@httpModule({ name: 'srv_http_log_module', api: 1, directives })
export class AccessLog {
  readonly #logs: AccessLogs<HttpRequest>;

  constructor(files: LogFiles, info: ServerInfo, log: Log) {
    this.#logs = new AccessLogs(files, info, log, ENGINE);
  }

  compileServer(scope: HttpLogScope): undefined {
    this.#logs.check(scope);
  }

  compile(scope: HttpLogScope): HttpHandlers | undefined {
    const write = this.#logs.compile(scope);
    if (write === undefined) return undefined;
    const { log_subrequest: logsSubrequests } = scope.conf;
    return {
      log(request) {
        if (request.parent === undefined || logsSubrequests) write(request);
      },
    };
  }
}

function combinedPart(piece: string): string | VariableGetter {
  return piece.startsWith('$') ? (request) => request.variable(piece.slice(1)) : piece;
}
