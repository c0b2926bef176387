import { optional, text } from '../../core/contract/args.js';
import type { HttpHandlers, LocationScope } from '../../core/contract/http.js';
import { httpModule } from '../../core/contract/manifest.js';
import { Statistics } from '../../core/contract/statistics.js';
import { directive } from '../../core/contract/spec.js';

const directives = {
  stub_status: directive({
    in: ['server', 'location'],
    args: optional(text()),
    inherit: 'none',
    doc: 'Shows connection and request figures.',
  }),
};

/** Basic figures of this node over all workers (ngx_http_stub_status_module). */
@httpModule({
  name: 'srv_http_stub_status_module',
  api: 1,
  directives,
})
export class StubStatus {
  constructor(private readonly figures: Statistics) {}

  readonly variables = {
    connections_active: (): string => String(this.figures.active),
    connections_reading: (): string => String(this.figures.reading),
    connections_writing: (): string => String(this.figures.writing),
    connections_waiting: (): string => String(this.figures.waiting),
  };

  compile(scope: LocationScope<typeof directives>): HttpHandlers | undefined {
    if (!scope.own('stub_status')) return undefined;
    return {
      content: (request) => {
        if (request.method !== 'GET' && request.method !== 'HEAD') return 405;
        const { accepted, handled, requests, active, reading, writing, waiting } = this.figures;
        const body =
          `Active connections: ${active} \nserver accepts handled requests\n ${accepted} ${handled} ${requests} \n` +
          `Reading: ${reading} Writing: ${writing} Waiting: ${waiting} \n`;
        return request.send(200, body, 'text/plain');
      },
      explain: { content: 'run' },
    };
  }
}
