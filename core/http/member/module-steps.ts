import { DECLINED, DONE, type MemberResponse, type Result, type StoredResponse } from '../../contract/http.js';
import { fieldName, fieldValue } from '../../net/http1/fields.js';
import type { ResponseHead } from '../../net/http1/response-head.js';
import { logFailure } from '../request/handler-failure.js';
import type { Request } from '../request/request.js';
import type { ResponseCopy } from './response-copy.js';

/** An exchange whose response modules may take away. */
interface AskingExchange {
  readonly request: Request;
  copy(): ResponseCopy;
  leave(): void;
}

/**
 * Lets the modules of the location look at a response whose head is in the scratch.
 * @returns true: one of them has dealt with it, and nothing of it is relayed
 */
export function askModules(exchange: AskingExchange, head: ResponseHead, length: number): boolean {
  const { request } = exchange;
  const { memberHandlers } = request.location;
  if (memberHandlers.length === 0) return false;
  const response = new ResponseView(exchange, head, length);
  for (const handler of memberHandlers) {
    let result: Result | Promise<Result> | void;
    try {
      result = handler(request, response);
    } catch (error) {
      logFailure(request, error, handler);
      result = 500;
    }
    const answer = result ?? (response.isDiscarded ? DONE : DECLINED);
    if (answer === DECLINED) continue;
    response.discard();
    request.context.flow.settle(request, () => answer);
    return true;
  }
  return false;
}

/** To the modules of the location: the response is another one than the member's. */
export function replaced(request: Request): void {
  for (const handler of request.location.replacedHandlers) {
    try {
      handler(request);
    } catch (error) {
      logFailure(request, error, handler);
    }
  }
}

/** A member's response, as modules see it. */
class ResponseView implements MemberResponse {
  readonly status: number;
  isDiscarded = false;

  constructor(
    private readonly exchange: AskingExchange,
    private readonly head: ResponseHead,
    readonly length: number,
  ) {
    this.status = head.status;
  }

  header(lowerName: string): string | undefined {
    const values = this.headers().flatMap(([name, value]) => (name.toLowerCase() === lowerName ? [value] : []));
    return values.length === 0 ? undefined : values.join(', ');
  }

  headers(): [name: string, value: string][] {
    const { text, fields, count } = this.head;
    return Array.from({ length: count }, (_, at) => [fieldName(text, fields, at), fieldValue(text, fields, at)]);
  }

  store(): StoredResponse {
    return this.exchange.copy().share();
  }

  discard(): void {
    if (this.isDiscarded) return;
    this.isDiscarded = true;
    this.exchange.leave();
  }
}
