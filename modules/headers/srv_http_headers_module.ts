import { argType } from '../../core/contract/arg-type.js';
import { fieldName, optional, template, word } from '../../core/contract/args.js';
import { parseTime } from '../../core/contract/duration.js';
import {
  isSuccess,
  type HttpHandlers,
  type HttpRequest,
  type LocationScope,
  type ResponseHeaders,
  type Template,
} from '../../core/contract/http.js';
import { httpModule } from '../../core/contract/manifest.js';
import { ArgError, directive, type ArgType } from '../../core/contract/spec.js';

/** When a response expires; times in milliseconds, `daily` since midnight. */
type Expires = { readonly kind: 'off' | 'epoch' | 'max' } | { readonly kind: 'after' | 'daily'; readonly milliseconds: number };

const OFF: Expires = { kind: 'off' };
const MIDNIGHT: Expires = { kind: 'daily', milliseconds: 0 };
const DAY = 86_400_000;

/** Undefined for what is none. @throws ArgError for a time of day that no day has */
function parseExpires(value: string): Expires | undefined {
  if (value === 'off' || value === 'epoch' || value === 'max') return { kind: value };
  const [, sign = '', written = ''] = /^([-+@]?)(.*)$/s.exec(value) ?? [];
  const milliseconds = parseTime(written);
  if (milliseconds === undefined) return undefined;
  if (sign !== '@') return { kind: 'after', milliseconds: sign === '-' ? -milliseconds : milliseconds };
  if (milliseconds < DAY) return { kind: 'daily', milliseconds };
  throw new ArgError('"expires" directive daily time value must be less than 24 hours');
}

/** A word of `expires`; one with variables is known with the request. */
function expiry(form: string): ArgType<Expires | Template | 'modified'> {
  const variable = template();
  return argType({
    kind: 'time',
    form,
    parse(value, context) {
      if (value === 'modified') return value;
      if (value.startsWith('$')) return variable.parse(value, context);
      const expires = parseExpires(value);
      if (expires !== undefined) return expires;
      throw new ArgError(`invalid value "${value}"`, 'a time such as 30d, -1 or @15h30m, or one of: epoch, max, off');
    },
  });
}

/** The time after `modified`. A time of day is not allowed there. */
function expiryBehindModified(): ArgType<Expires | Template | 'modified'> {
  const type = expiry('time');
  return argType({
    kind: 'time',
    form: 'time',
    parse: (value, context) => (value.startsWith('@') ? MIDNIGHT : type.parse(value, context)),
  });
}

/** The name of a field; one with variables is known with the request. */
function fieldTemplate(): ArgType<Template> {
  const name = template('name');
  const known = fieldName();
  return {
    ...name,
    parse(value, context) {
      const parsed = name.parse(value, context);
      if (parsed.constant !== undefined) known.parse(parsed.constant, context);
      return parsed;
    },
  };
}

const directives = {
  add_header: directive({
    in: ['http', 'server', 'location', 'if in location'],
    args: { name: fieldTemplate(), value: template('value'), always: word('always') },
    many: true,
    dynamic: true,
    doc: 'Adds a field to responses with status 200, 201, 204, 206, 301-304, 307, 308; with always to all. Last-Modified and ETag replace those of the response; an empty value removes them.',
  }),
  add_trailer: directive({
    in: ['http', 'server', 'location', 'if in location'],
    args: { name: fieldName(), value: template('value'), always: word('always') },
    many: true,
    doc: 'Adds a field after the body of responses with the statuses of add_header; with always of all. The value is evaluated when the body has ended.',
  }),
  expires: directive({
    in: ['http', 'server', 'location', 'if in location'],
    args: { first: expiry('modified | [-]time | @time | epoch | max | off'), second: optional(expiryBehindModified()) },
    default: 'off',
    doc: 'Sets Expires and Cache-Control; "modified": counted from Last-Modified.',
  }),
};

const EPOCH = 'Thu, 01 Jan 1970 00:00:01 GMT';
const FAR = 'Thu, 31 Dec 2037 23:55:55 GMT';
const TEN_YEARS = 315_360_000;

/** Header fields of responses (ngx_http_headers_module). */
@httpModule({ name: 'srv_http_headers_module', api: 1, directives, phases: { header: 200 } })
export class Headers {
  compile(scope: LocationScope<typeof directives>): HttpHandlers | undefined {
    const lines = scope.conf.add_header;
    const expires = expiresOf(scope);
    const trailers = scope.conf.add_trailer;
    if (lines.length === 0 && expires === undefined && trailers.length === 0) return undefined;
    return {
      header(request) {
        const success = isSuccess(request.status);
        if (success) expires?.(request);
        for (const { name, value, always } of lines) {
          if (!always && !success) continue;
          addField(request.response, name.of(request), value.of(request));
        }
        for (const { name, value, always } of trailers)
          if (always || success) request.response.appendTrailer(name, () => value.of(request));
      },
    };
  }
}

/** Fields of which a response has one. */
const SINGLE = /^(?:etag|last-modified)$/i;

function addField(response: ResponseHeaders, name: string, value: string): void {
  if (!SINGLE.test(name)) {
    if (value !== '') response.append(name, value);
  } else if (value === '') response.remove(name);
  else response.set(name, value);
}

/** Effect of `expires` on a response; undefined: none. */
function expiresOf(scope: LocationScope<typeof directives>): ((request: HttpRequest) => void) | undefined {
  const { first, second } = scope.conf.expires;
  const isModified = first === 'modified';
  const when = isModified ? second : first;
  if (when === undefined || when === 'modified' || (!isModified && second !== undefined)) {
    return scope.fail('"expires" directive invalid value', 'expires');
  }
  if ('of' in when) return (request) => setExpires(request, expiresWith(when.of(request)), isModified);
  if (isModified && when.kind === 'daily') scope.fail('"expires" directive daily time cannot be used with "modified" parameter', 'expires');
  if (isModified && when.kind !== 'after') scope.fail('"expires" directive invalid value', 'expires', '"modified" is followed by a time');
  return when.kind === 'off' ? undefined : (request) => setExpires(request, when, isModified);
}

/** A value that is none leaves the response as it is. */
function expiresWith(value: string): Expires {
  try {
    return parseExpires(value) ?? OFF;
  } catch (error) {
    if (error instanceof ArgError) return OFF;
    throw error;
  }
}

function setExpires({ response }: HttpRequest, expires: Expires, isModified: boolean): void {
  // With a variable only: such a value is rejected where it is written.
  if (isModified && expires.kind !== 'after') return;
  const now = Date.now();
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
    case 'daily':
      return setTime(response, nextTimeOfDay(expires.milliseconds, now), now);
    case 'after': {
      const modified = isModified ? Date.parse(response.get('Last-Modified') ?? '') : Number.NaN;
      return setTime(response, (Number.isNaN(modified) ? now : modified) + expires.milliseconds, now);
    }
  }
}

function setTime(response: ResponseHeaders, at: number, now: number): void {
  response.set('Expires', new Date(at).toUTCString());
  response.set('Cache-Control', at < now ? 'no-cache' : `max-age=${Math.floor((at - now) / 1000)}`);
}

/** Today's local time of day, or tomorrow's if it is over. @param milliseconds since midnight */
function nextTimeOfDay(milliseconds: number, now: number): number {
  const day = new Date(now);
  const today = new Date(day.getFullYear(), day.getMonth(), day.getDate(), 0, 0, 0, milliseconds).getTime();
  if (today > now) return today;
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() + 1, 0, 0, 0, milliseconds).getTime();
}
