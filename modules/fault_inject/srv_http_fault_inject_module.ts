import { choice, number, param, requiredParam, template, time } from '../../core/contract/args.js';
import type { ExplainNotes } from '../../core/contract/explain.js';
import { DECLINED, type Handler, type HttpHandlers, type HttpRequest, type Result, type Scope } from '../../core/contract/http.js';
import { httpModule } from '../../core/contract/manifest.js';
import { Metrics, type Counter } from '../../core/contract/metrics.js';
import { Log } from '../../core/contract/log.js';
import { ArgError, directive, type ArgType, type DirectiveValue } from '../../core/contract/spec.js';
import { Shares } from './shares.js';

const PERCENT = /^\d{1,3}(?:\.\d{1,2})?$/;

/** A percentage from 0 to 100 with at most two decimals. */
function percentage(): ArgType<number, number> {
  return {
    kind: 'number',
    form: 'percentage',
    parse(value) {
      if (PERCENT.test(value) && Number(value) <= 100) return Number(value);
      throw new ArgError(`invalid number "${value}"`, 'from 0 to 100, with at most two decimals');
    },
    print: String,
    json: { schema: { type: 'number', minimum: 0, maximum: 100, multipleOf: 0.01 }, show: (value) => value, text: String },
  };
}

/** The longest delay that a timer has: 24 days. */
const LONGEST_MS = 2 ** 31 - 1;

const directives = {
  fault_inject: directive({
    in: ['location'],
    args: {
      type: requiredParam('type', choice('none', 'delay', 'abort', 'delay_abort')),
      delay_duration: param('delay_duration', time()),
      delay_percentage: param('delay_percentage', percentage(), 100),
      abort_percentage: param('abort_percentage', percentage(), 100),
      status_code: param('status_code', number({ min: 200, max: 599 }), 503),
      if: param('if', template('condition')),
    },
    dynamic: true,
    doc: 'Delays or aborts a share of the requests, to see what clients and other services make of it: delay_percentage and abort_percentage of them (100 by default each), with status_code (503 by default); a delay needs delay_duration. Has no effect beside return.',
    argDocs: {
      type: 'Kind of fault: none, a delay, an abort, or each of both.',
      delay_duration: 'Time by which a request is delayed.',
      delay_percentage: 'How many of 100 requests are delayed.',
      abort_percentage: 'How many of 100 requests are aborted, whether they were delayed or not.',
      status_code: 'The status of the response to an aborted request.',
      if: 'Only requests for which this text is neither empty nor "0".',
    },
  }),
};

type Faults = DirectiveValue<typeof directives.fault_inject>;

/** The fault for a request. */
interface Plan {
  readonly isDelayed: boolean;
  readonly isAborted: boolean;
}

const NOTHING: Plan = { isDelayed: false, isAborted: false };
const DELAY: Plan = { isDelayed: true, isAborted: false };
const ABORT: Plan = { isDelayed: false, isAborted: true };
const BOTH: Plan = { isDelayed: true, isAborted: true };

/** Under these keys a request keeps its plan, and what was done. */
const PLAN = {};
const INJECTED = {};

/** Faults for tests of resilience: delays and error responses. */
@httpModule({
  name: 'srv_http_fault_inject_module',
  api: 1,
  directives,
  // Delays come after limits; aborts for requests that access rules allow.
  phases: { preaccess: 200, precontent: 10 },
  variables: { fault_injected: (request) => request.get(INJECTED) as string | undefined },
})
export class FaultInject {
  /** Over all workers; undefined: there is nothing to count yet. */
  #delays: Counter | undefined;
  #aborts: Counter | undefined;

  constructor(
    private readonly log: Log,
    private readonly metrics: Metrics,
  ) {}

  compile(scope: Scope<typeof directives>): HttpHandlers | undefined {
    const faults = scope.conf.fault_inject;
    if (faults === undefined || faults.type === 'none') return undefined;
    const { type, delay_duration: duration } = faults;
    if (type !== 'abort' && duration === undefined)
      return scope.fail(
        '"fault_inject" must have "delay_duration" parameter',
        'fault_inject',
        'how long requests are delayed: delay_duration=500ms',
      );
    if (duration !== undefined && duration > LONGEST_MS) scope.fail('"delay_duration" is too long', 'fault_inject', 'at most 24 days');
    // It responds earlier: in the phase of rewrites.
    if (scope.own('return') && scope.own('fault_inject')) scope.advise('"fault_inject" has no effect beside "return"', 'fault_inject');
    this.#delays ??= this.metrics.counter('srv_http_fault_inject_total', { type: 'delay' });
    this.#aborts ??= this.metrics.counter('srv_http_fault_inject_total', { type: 'abort' });
    return {
      preaccess: this.#delayer(faults, duration ?? 0),
      ...(type !== 'delay' && { precontent: (request: HttpRequest) => this.#abort(request, faults.status_code) }),
      explain: {
        preaccess: (request, notes) => explainDelay(faults, request, notes),
        ...(type !== 'delay' && { precontent: (request: HttpRequest, notes: ExplainNotes) => explainAbort(faults, request, notes) }),
      },
    };
  }

  #delayer(faults: Faults, duration: number): Handler {
    const shares = new Shares(
      faults.type === 'abort' ? 0 : faults.delay_percentage / 100,
      faults.type === 'delay' ? 0 : faults.abort_percentage / 100,
    );
    return (request) => {
      if (request.get(PLAN) !== undefined) return DECLINED;
      const plan = isMeant(faults, request) ? nextPlan(shares) : NOTHING;
      request.set(PLAN, plan);
      return plan.isDelayed ? this.#delay(request, duration) : DECLINED;
    };
  }

  #delay(request: HttpRequest, duration: number): Result {
    request.set(INJECTED, 'delay');
    this.#delays?.add();
    this.log.write('info', `fault injected: delayed by ${duration} ms`, request);
    return request.delay(duration);
  }

  #abort(request: HttpRequest, status: number): Result {
    const plan = request.get(PLAN) as Plan | undefined;
    if (plan?.isAborted !== true) return DECLINED;
    // An error page is a response of its own.
    request.set(PLAN, NOTHING);
    request.set(INJECTED, plan.isDelayed ? 'delay_abort' : 'abort');
    this.#aborts?.add();
    this.log.write('info', `fault injected: aborted with ${status}`, request);
    return status < 300 ? request.send(status, '') : status;
  }
}

function isMeant({ if: condition }: Faults, request: HttpRequest): boolean {
  return condition === undefined || isTrue(condition.of(request));
}

function explainDelay(faults: Faults, request: HttpRequest, notes: ExplainNotes): Result {
  if (!isMeant(faults, request)) {
    notes.say('fault_inject is not for this request: its condition is false');
    return DECLINED;
  }
  const { type, delay_percentage: share, delay_duration: duration } = faults;
  if (type === 'abort') return DECLINED;
  notes.say(`delays ${share} % of the requests by ${duration ?? 0} ms`, { delay_percentage: share, delay_duration: duration });
  return DECLINED;
}

/** An abort of some is not assumed of this one. */
function explainAbort(faults: Faults, request: HttpRequest, notes: ExplainNotes): Result {
  if (!isMeant(faults, request)) return DECLINED;
  const { abort_percentage: share, status_code: status } = faults;
  notes.say(`aborts ${share} % of the requests with ${status}`, { abort_percentage: share, status });
  if (share === 100) return status < 300 ? request.send(status, '') : status;
  if (share > 0) notes.assume('fault_inject: the request is not aborted');
  return DECLINED;
}

function isTrue(text: string): boolean {
  return text !== '' && text !== '0';
}

function nextPlan(shares: Shares): Plan {
  shares.next();
  if (shares.isInFirst) return shares.isInSecond ? BOTH : DELAY;
  return shares.isInSecond ? ABORT : NOTHING;
}
