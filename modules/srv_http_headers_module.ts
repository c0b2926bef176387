import { template, time, word, choice } from '../core/module/args.js';
import { isSuccess, type HttpHandlers, type LocationScope } from '../core/module/http.js';
import { httpModule } from '../core/module/manifest.js';
import { ArgError, directive, type ArgType } from '../core/module/spec.js';

type Expires = { readonly kind: 'off' | 'epoch' | 'max' } | { readonly kind: 'after'; readonly milliseconds: number };

/** `epoch`, `max`, `off`, or a time that may be negative. The form relative to the modification time and `@` times come with static files. */
function expiry(): ArgType<Expires> {
  const words = choice('off', 'epoch', 'max');
  const duration = time();
  return {
    kind: 'time',
    form: '[-]time | epoch | max | off',
    parse(value, context) {
      if (/^[a-z]+$/.test(value)) return { kind: words.parse(value, context) };
      const negative = value.startsWith('-');
      if (value.startsWith('@')) throw new ArgError(`invalid value "${value}"`, 'a time of day is not supported');
      const milliseconds = duration.parse(negative ? value.slice(1) : value, context);
      return { kind: 'after', milliseconds: negative ? -milliseconds : milliseconds };
    },
  };
}

const directives = {
  add_header: directive({
    in: ['http', 'server', 'location', 'if'],
    args: { name: template('name'), value: template('value'), always: word('always') },
    many: true,
    doc: 'Adds a field to answers with status 200, 201, 204, 206, 301-304, 307, 308; with always to all.',
  }),
  expires: directive({ in: ['http', 'server', 'location', 'if'], args: expiry(), default: 'off', doc: 'Sets Expires and Cache-Control.' }),
};

const EPOCH = 'Thu, 01 Jan 1970 00:00:01 GMT';
const FAR = 'Thu, 31 Dec 2037 23:55:55 GMT';
const TEN_YEARS = 315_360_000;

/** Header fields of answers (ngx_http_headers_module). */
@httpModule({ name: 'srv_http_headers_module', api: 1, directives, phases: { header: 200 } })
export class Headers {
  compile(scope: LocationScope<typeof directives>): HttpHandlers | undefined {
    const { add_header: lines, expires } = scope.conf;
    if (lines.length === 0 && expires.kind === 'off') return undefined;
    return {
      header(request) {
        const success = isSuccess(request.status);
        if (success) setExpires(request.response, expires);
        for (const { name, value, always } of lines) {
          if (!always && !success) continue;
          const text = value.of(request);
          if (text !== '') request.response.append(name.of(request), text);
        }
      },
    };
  }
}

function setExpires(response: { set(name: string, value: string): void }, expires: Expires): void {
  switch (expires.kind) {
    case 'off':
      return;
    case 'epoch':
      response.set('Expires', EPOCH);
      response.set('Cache-Control', 'no-cache');
      return;
    case 'max':
      response.set('Expires', FAR);
      response.set('Cache-Control', `max-age=${TEN_YEARS}`);
      return;
    case 'after':
      response.set('Expires', new Date(Date.now() + expires.milliseconds).toUTCString());
      response.set('Cache-Control', expires.milliseconds < 0 ? 'no-cache' : `max-age=${Math.floor(expires.milliseconds / 1000)}`);
  }
}
