import type { HttpHandlers, HttpRequest, RequestObserver } from '../../core/contract/http.js';
import { DECLINED } from '../../core/contract/http.js';
import { RequestTrace } from './request-trace.js';
import { extract, isValidBaggage, validState, type RemoteContext } from './trace-context.js';
import type { TraceSettings } from './trace-settings.js';
import type { TakeSpan } from './trace-sink.js';

/** Where a request has its {@link RequestTrace}. */
const TRACE = {};

export const traceOf = (request: HttpRequest): RequestTrace | undefined => request.get(TRACE) as RequestTrace | undefined;

const ends = (request: HttpRequest): void => traceOf(request)?.ends(request);

/** One for all requests that have a trace; others pay for none of it. */
const observer: RequestObserver = {
  content: (request) => traceOf(request)?.contentBegins(),
  head: (request) => traceOf(request)?.found(),
  memberAttempt: (request, attempt, event) => {
    if (event === 'begin') traceOf(request)?.attemptBegins(request, attempt);
    else if (event === 'end') traceOf(request)?.attemptEnds(request, attempt);
  },
};

function record(request: HttpRequest, trace: RequestTrace): void {
  request.set(TRACE, trace);
  request.observe(observer);
  request.atEnd(ends);
}

/** The context of the client, if that is used. */
function remoteOf(request: HttpRequest, { extracts, forms }: TraceSettings): RemoteContext | undefined {
  return extracts ? extract(forms, (name) => request.header(name)) : undefined;
}

/** Begins the trace of a request, if it is sampled or may be kept at its end. A request that is neither has no state. */
function begin(request: HttpRequest, settings: TraceSettings, take: TakeSpan): void {
  const remote = remoteOf(request, settings);
  const isSampled = remote?.isSampled ?? draw(settings);
  if (!isSampled && settings.keep.length === 0) return;
  record(request, new RequestTrace(settings, remote, stateOf(request, remote), isSampled, take));
  guardBaggage(request, settings);
}

const stateOf = (request: HttpRequest, remote: RemoteContext | undefined): string =>
  remote?.hasState === true ? validState(request.header('tracestate')) : '';

const draw = ({ ratio }: TraceSettings): boolean => ratio === 1 || Math.random() < ratio;

/** Members get a baggage that is valid, where it is one of the forms. */
function guardBaggage(request: HttpRequest, { forms }: TraceSettings): void {
  const baggage = request.header('baggage');
  if (baggage !== undefined && (!forms.includes('baggage') || !isValidBaggage(baggage))) request.upstream.remove('baggage');
}

/** Handlers of a server: the decision is made before anything else happens to a request. */
export function serverHandlers(settings: TraceSettings, take: TakeSpan): HttpHandlers {
  return {
    post_read: (request) => {
      begin(request, settings, take);
      return DECLINED;
    },
    explain: { post_read: () => DECLINED },
  };
}

/** @param decides other settings apply than in the server */
export function locationHandlers(settings: TraceSettings, decides: boolean, take: TakeSpan): HttpHandlers {
  const enter = (request: HttpRequest): number => {
    const trace = traceOf(request);
    if (trace !== undefined) {
      trace.settings = settings;
      if (decides && request.parent === undefined) decideAgain(request, trace, settings);
    } else if (request.parent !== undefined) beginSubrequest(request, request.parent, settings, take);
    else if (decides) begin(request, settings, take);
    return DECLINED;
  };
  return { rewrite: enter, explain: { rewrite: () => DECLINED } };
}

function decideAgain(request: HttpRequest, trace: RequestTrace, settings: TraceSettings): void {
  const remote = remoteOf(request, settings);
  trace.decideAgain(remote, stateOf(request, remote), remote?.isSampled ?? draw(settings));
}

function beginSubrequest(request: HttpRequest, parent: HttpRequest, settings: TraceSettings, take: TakeSpan): void {
  const above = traceOf(parent);
  if (above === undefined) return;
  record(request, new RequestTrace(settings, above, above.state, above.isSampled, take));
}

/** A location with `telemetry off`: a request that came to it is not recorded. */
export const dropHandlers: HttpHandlers = {
  rewrite: (request) => {
    if (request.parent === undefined) traceOf(request)?.drop();
    return DECLINED;
  },
  explain: { rewrite: () => DECLINED },
};
