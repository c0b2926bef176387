import { optional, text, time, word } from '../../core/contract/args.js';
import { Channels, type Channel } from '../../core/contract/channels.js';
import { action } from '../../core/contract/control.js';
import type { HttpHandlers, HttpRequest, LocationScope } from '../../core/contract/http.js';
import { LogFiles, type LogFile } from '../../core/contract/log-files.js';
import { httpModule } from '../../core/contract/manifest.js';
import { directive } from '../../core/contract/spec.js';
import { openLog } from '../../core/toolkit/open-log.js';
import { shortened, slowEntry } from './slow-entry.js';
import { SlowRequests, SlowSender, type SlowMessage, type SlowPage } from './slow-requests.js';

const directives = {
  slow_log: directive({
    in: ['http', 'server', 'location'],
    args: { off: word('off'), time: optional(time()), path: optional(text('path')) },
    default: 'off',
    doc: 'Records each request that took at least this time, with the time in each phase: before members, queue, connection, first byte, body, client; and with each attempt at a member. The last ones can be read with `/v1/slow_log`; with a path each is also written there as a line of JSON. `off`: none.',
  }),
};

type SlowLogScope = LocationScope<typeof directives>;

/** Slow requests, with the phases that their time went to. */
@httpModule({ name: 'srv_http_slow_log_module', api: '1.2', plane: 'data', directives })
export class SlowLog {
  readonly #requests = new SlowRequests();
  readonly #channel: Channel<never, never, SlowMessage>;
  readonly #sender: SlowSender;

  constructor(
    private readonly files: LogFiles,
    channels: Channels,
  ) {
    this.#channel = channels.open('requests', { told: (message, worker) => this.#requests.add(message, worker) });
    this.#sender = new SlowSender((message) => this.#channel.tell(message));
  }

  compile(scope: SlowLogScope): HttpHandlers | undefined {
    const { off, time: limit, path } = scope.conf.slow_log;
    const [line] = scope.lines('slow_log');
    if (off) return limit === undefined ? undefined : scope.fail('"off" has no other parameters', line);
    if (limit === undefined) return scope.fail('a time is required: slow_log 1s', line);
    const file = path === undefined ? undefined : openLog(scope, this.files, { name: path, place: line });
    return {
      log: (request) => {
        if (request.elapsed >= limit && request.parent === undefined) this.#record(request, file);
      },
    };
  }

  @action('slow_log.read')
  read({ limit }: { readonly limit: number }): SlowPage {
    return this.#requests.page(limit);
  }

  #record(request: HttpRequest, file: LogFile | undefined): void {
    const end = request.startTime + request.elapsed;
    if (file === undefined) {
      this.#sender.offer(() => shortened(slowEntry(request, end)), end);
      return;
    }
    const entry = slowEntry(request, end);
    file.write(JSON.stringify(entry));
    this.#sender.offer(() => shortened(entry), end);
  }
}
