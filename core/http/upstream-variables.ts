import type { VariableGetter } from '../module/http.js';
import type { Request } from './request.js';
import type { Attempt } from './upstream-trace.js';
import type { HttpVariables } from './variables.js';

/** One value an attempt, separated as nginx does; undefined if no upstream was asked. */
function each(show: (attempt: Attempt) => string): VariableGetter {
  return (request) => {
    const attempts = (request as Request).upstream?.attempts;
    return attempts === undefined || attempts.length === 0 ? undefined : attempts.map(show).join(', ');
  };
}

/** `1.250`: seconds with milliseconds, as in nginx's logs. */
export function seconds(milliseconds: number): string {
  return (milliseconds / 1000).toFixed(3);
}

const duration = (milliseconds: number): string => (milliseconds < 0 ? '-' : seconds(milliseconds));

/** What is known of a request's upstream (ngx_http_upstream_module). */
export function defineUpstreamVariables(variables: HttpVariables): void {
  variables.define(
    'upstream_addr',
    each((attempt) => attempt.address),
  );
  variables.define(
    'upstream_status',
    each((attempt) => (attempt.status === 0 ? '-' : String(attempt.status))),
  );
  variables.define(
    'upstream_connect_time',
    each((attempt) => duration(attempt.connectTime)),
  );
  variables.define(
    'upstream_header_time',
    each((attempt) => duration(attempt.headerTime)),
  );
  variables.define(
    'upstream_response_time',
    each((attempt) => duration(attempt.responseTime)),
  );
  variables.define(
    'upstream_bytes_sent',
    each((attempt) => String(attempt.sent)),
  );
  variables.define(
    'upstream_bytes_received',
    each((attempt) => String(attempt.received)),
  );
  variables.define(
    'upstream_response_length',
    each((attempt) => String(attempt.received)),
  );
}
