import { DECLINED, DONE, type BodySource, type HttpHandlers, type MemberCall, type Result } from '../../contract/http.js';
import type { CallFailure } from '../../contract/member-call.js';
import { isToken } from '../../contract/message-text.js';
import { parseResponseHead } from '../../net/http1/response-head.js';
import { logFailure } from '../request/handler-failure.js';
import { OwnField } from '../request/context.js';
import type { Request } from '../request/request.js';
import type { AttemptFacts, UpstreamTrace } from '../request/upstream-trace.js';
import { accelSettings } from './accel.js';
import type { MemberRoute } from './member-route.js';
import { AttemptFailure } from './next-upstream.js';
import { MemberField } from './response-fields.js';
import { adoptHead } from './upstream-head.js';

const FAILURES: Readonly<Record<AttemptFailure, CallFailure>> = {
  [AttemptFailure.Error]: 'error',
  [AttemptFailure.Timeout]: 'timeout',
  [AttemptFailure.InvalidHeader]: 'invalid_header',
};

/** A call as modules see it, and the trace of a response that no member has sent now: its fields, and the attempts before it. */
export class ModuleCall implements MemberCall, UpstreamTrace {
  readonly responseTrailers = '';
  readonly url = undefined;
  attempts: readonly AttemptFacts[] = NO_ATTEMPTS;
  responseHead = '';
  buffers = true;
  expires: number | undefined = undefined;
  #method: string;
  #target: string | undefined = undefined;

  constructor(
    readonly request: Request,
    readonly route: MemberRoute,
    method: string,
  ) {
    this.#method = method;
  }

  get prefix(): string {
    return this.route.plan.prefix;
  }
  get ignored(): ReadonlySet<string> {
    return this.route.plan.ignored;
  }
  get target(): string {
    this.#target ??= this.route.target(this.request);
    return this.#target;
  }
  get method(): string {
    return this.#method;
  }
  set method(method: string) {
    if (!isToken(method)) throw new TypeError(`invalid method "${method}" for the upstream`);
    this.#method = method;
  }

  respond(text: string, body: BodySource | Buffer, keepsDate = false): Result {
    const { request, route } = this;
    if (request.isGone || request.finished) {
      closeBody(body);
      return DONE;
    }
    this.responseHead = text;
    if (request.upstreamTrace !== undefined) this.attempts = request.upstreamTrace.attempts;
    request.upstreamTrace = this;
    if (!route.storedHeads.adopt(request, route, text, keepsDate)) {
      const status = this.#adopt(text, body, keepsDate);
      if (status !== DONE) return status;
    }
    const { flow } = request.context;
    if (Buffer.isBuffer(body)) flow.sendStored(request, body);
    else flow.sendFrom(request, body);
    return DONE;
  }

  /** Reads the head, and makes it that of the response. @returns DONE, or the status of a failure */
  #adopt(text: string, body: BodySource | Buffer, keepsDate: boolean): Result {
    const { request, route } = this;
    const { responseHead: head } = request.context;
    if (parseResponseHead(head, text) !== 0 || head.interim) {
      closeBody(body);
      throw new TypeError(`the head that a module responds with is none: ${head.reason}`);
    }
    route.fields.read(head);
    accelSettings(this, head);
    route.storedHeads.remember(route, head);
    if (!adoptHead(request, route, head)) {
      closeBody(body);
      return 500;
    }
    const date = keepsDate && !route.passesDate ? route.fields.line(head, MemberField.Date) : '';
    if (date !== '') {
      request.response.appendLines(date);
      request.ownFields &= ~OwnField.Date;
    }
    return DONE;
  }

  leave(): void {}
}

const NO_ATTEMPTS: readonly AttemptFacts[] = [];

function closeBody(body: BodySource | Buffer): void {
  if (!Buffer.isBuffer(body)) body.close();
}

/**
 * Lets the modules of the location respond before a member is asked.
 * @param goOn asks a member
 */
export function askBefore(call: ModuleCall, goOn: (call: ModuleCall) => Result, first = 0): Result | Promise<Result> {
  const { request } = call;
  const { callHandlers } = request.location;
  for (let at = first; at < callHandlers.length; at++) {
    const handler = callHandlers[at] as CallHandler;
    const result = checked(request, handler, () => handler(request, call));
    if (result instanceof Promise) {
      return result.then((answer) => {
        if ((answer ?? DECLINED) !== DECLINED) return answer;
        return request.finished ? DONE : askBefore(call, goOn, at + 1);
      });
    }
    if ((result ?? DECLINED) !== DECLINED) return result as Result;
  }
  return goOn(call);
}

/** Lets them respond when no member has. False: none of them does. */
export function askAfterFailure(request: Request, failure: AttemptFailure, status: number): boolean {
  const { callFailureHandlers } = request.location;
  if (callFailureHandlers.length === 0 || request.finished) return false;
  request.context.flow.settle(request, () => answerOf(request, callFailureHandlers, FAILURES[failure], status));
  return true;
}

function answerOf(
  request: Request,
  handlers: readonly CallFailureHandler[],
  failure: CallFailure,
  status: number,
): Result | Promise<Result> {
  const [handler, ...others] = handlers;
  if (handler === undefined) return status;
  const result = checked(request, handler, () => handler(request, failure, status));
  if (result instanceof Promise)
    return result.then((answer) => ((answer ?? DECLINED) === DECLINED ? answerOf(request, others, failure, status) : answer));
  return (result ?? DECLINED) === DECLINED ? answerOf(request, others, failure, status) : (result as Result);
}

type CallHandler = NonNullable<HttpHandlers['memberRequest']>;
type CallFailureHandler = NonNullable<HttpHandlers['memberFailure']>;
type Answer = Result | Promise<Result> | void;

/** Failures are logged with the name of the module, and cost this request its response. */
function checked(request: Request, handler: unknown, run: () => Answer): Answer {
  const failed = (error: unknown): Result => {
    logFailure(request, error, handler);
    return 500;
  };
  try {
    const result = run();
    return result instanceof Promise ? result.catch(failed) : result;
  } catch (error) {
    return failed(error);
  }
}
