import type { HttpRequest, VariableGetter, VariablePrefix } from '../../contract/http.js';
import { seconds } from '../../net/log-time.js';
import type { Request } from '../request/request.js';
import type { AttemptFacts, UpstreamTrace } from '../request/upstream-trace.js';
import type { HttpVariables } from '../site/variables.js';

const duration = (milliseconds: number): string => (milliseconds < 0 ? '-' : seconds(milliseconds));

/** Values of each attempt. */
const ATTEMPTS: Readonly<Record<string, (attempt: AttemptFacts) => string>> = {
  upstream_addr: ({ address }) => address,
  upstream_status: ({ status }) => (status === 0 ? '-' : String(status)),
  upstream_queue_time: ({ queueTime }) => duration(queueTime),
  upstream_connect_time: ({ connectTime }) => duration(connectTime),
  upstream_header_time: ({ headerTime }) => duration(headerTime),
  upstream_response_time: ({ responseTime }) => duration(responseTime),
  upstream_bytes_sent: ({ sent }) => String(sent),
  upstream_bytes_received: ({ received }) => String(received),
  upstream_response_length: ({ received, headLength }) => String(received - headLength),
};

/** Variables of a request's upstream (ngx_http_upstream_module). */
export function defineUpstreamVariables(variables: HttpVariables): void {
  for (const [name, show] of Object.entries(ATTEMPTS)) variables.define(name, each(show));
  variables.definePrefix('upstream_http_', responseField);
  variables.definePrefix('upstream_trailer_', (rest) => {
    const name = rest.replaceAll('_', '-');
    return (request) => joined(valuesIn(traceOf(request)?.responseTrailers ?? '', name));
  });
  variables.definePrefix('upstream_cookie_', responseCookie);
}

/** One value an attempt: a comma between the members tried, a colon after an internal redirect. Undefined if no upstream was asked. */
function each(show: (attempt: AttemptFacts) => string): VariableGetter {
  return (request) => {
    const attempts = traceOf(request)?.attempts ?? [];
    if (attempts.length === 0) return undefined;
    return attempts.map((attempt, at) => (at === 0 ? '' : attempt.first ? ' : ' : ', ') + show(attempt)).join('');
  };
}

const responseField: VariablePrefix = (rest) => {
  const name = rest.replaceAll('_', '-');
  return (request) => joined(responseValues(request, name));
};

const joined = (values: readonly string[]): string | undefined => (values.length === 0 ? undefined : values.join(', '));

/** Value of a cookie that the response sets. As in nginx, it is all up to the semicolon; spaces around `=` are not part of it. */
const responseCookie: VariablePrefix = (name) => {
  const start = new RegExp(`^${name} *= *([^;]*)`, 'i');
  return (request) => {
    for (const line of responseValues(request, 'set-cookie')) {
      const value = start.exec(line)?.[1];
      if (value !== undefined) return value;
    }
    return undefined;
  };
};

function responseValues(request: HttpRequest, lowerName: string): string[] {
  const head = traceOf(request)?.responseHead ?? '';
  return valuesIn(head.slice(head.indexOf('\n') + 1), lowerName);
}

/** Of field lines. */
export function valuesIn(lines: string, lowerName: string): string[] {
  const values: string[] = [];
  for (const line of lines.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0 && line.slice(0, colon).toLowerCase() === lowerName)
      values.push(line.slice(colon + 1).replaceAll(/^[ \t]+|[ \t]+$/g, ''));
  }
  return values;
}

function traceOf(request: HttpRequest): UpstreamTrace | undefined {
  return (request as Request).upstreamTrace;
}
