import { optional, text, time, word } from '../../core/contract/args.js';
import type { HttpHandlers, HttpRequest, LocationScope } from '../../core/contract/http.js';
import { LogFiles, type LogFile } from '../../core/contract/log-files.js';
import { httpModule } from '../../core/contract/manifest.js';
import { directive } from '../../core/contract/spec.js';
import { openLog } from '../../core/toolkit/open-log.js';
import { attemptView, Moments, phasesOf } from './phases.js';

const directives = {
  slow_log: directive({
    in: ['http', 'server', 'location'],
    args: { off: word('off'), time: optional(time()), path: optional(text('path')) },
    default: 'off',
    doc: 'Writes a line of JSON for each request that took at least this time, with the time in each phase: before members, queue, connection, first byte, body, client; and with each attempt at a member. `off`: none.',
  }),
};

type SlowLogScope = LocationScope<typeof directives>;

/** Slow requests, with the phases that their time went to. */
@httpModule({ name: 'srv_http_slow_log_module', api: '1.2', plane: 'data', directives })
export class SlowLog {
  constructor(private readonly files: LogFiles) {}

  compile(scope: SlowLogScope): HttpHandlers | undefined {
    const { off, time: limit, path } = scope.conf.slow_log;
    const [line] = scope.lines('slow_log');
    if (off) return limit === undefined ? undefined : scope.fail('"off" has no other parameters', line);
    if (limit === undefined || path === undefined) return scope.fail('a time and a file are required: slow_log 1s logs/slow.log', line);
    const file = openLog(scope, this.files, { name: path, place: line });
    return {
      header: (request) => {
        this.#momentsOf(request).head = Date.now();
      },
      memberAttempt: (request, attempt, event) => {
        if (event !== 'begin' && event !== 'end') return;
        const moments = this.#momentsOf(request);
        if (event === 'end') moments.over = Date.now();
        else {
          moments.begun ||= Date.now();
          moments.attempts.push(attempt);
        }
      },
      log: (request) => {
        const end = Date.now();
        if (request.parent === undefined && end - request.startTime >= limit) this.#write(file, request, end);
      },
    };
  }

  #momentsOf(request: HttpRequest): Moments {
    const known = request.get(this) as Moments | undefined;
    if (known !== undefined) return known;
    const moments = new Moments();
    request.set(this, moments);
    return moments;
  }

  #write(file: LogFile, request: HttpRequest, end: number): void {
    const moments = this.#momentsOf(request);
    const { startTime, method, requestUri, protocol, host, status, connection } = request;
    const entry = {
      time: new Date(end).toISOString(),
      duration: end - startTime,
      phases: phasesOf(moments, startTime, end),
      server: characters(request.variable('server_name') ?? ''),
      client: connection.remoteAddress,
      method: characters(method),
      uri: characters(requestUri),
      protocol,
      host: characters(host),
      status,
      received: request.bytesReceived,
      sent: request.bytesSent,
      attempts: moments.attempts.map(attemptView),
      request_id: request.requestId,
    };
    file.write(JSON.stringify(entry));
  }
}

/** Values of requests are strings of bytes. */
function characters(value: string): string {
  return Buffer.from(value, 'latin1').toString();
}
