/** The body of a request as handlers of modules ask for it. */
import { BodyCollector, StoredCollector } from './body-collector.js';
import { BodyTooLarge } from './body-too-large.js';
import type { BodyRequest } from './request-body.js';
import { storeBody, StoredPromise } from './stored-body.js';

/** See {@link HttpRequest.readBody}. */
export function readBody(request: BodyRequest, limit: number): Promise<Buffer> {
  const { body } = request;
  if (body === undefined) return Promise.resolve(Buffer.alloc(0));
  if (request.contentLength > limit) return Promise.reject(tooLarge(request, limit));
  request.wantBody();
  return new Promise((resolve, reject) => {
    const failed = (status: number): void => reject(bodyError(request, status, limit));
    const store = body.stored?.isWhole === true ? body.stored.store : undefined;
    if (store !== undefined) {
      if (store.length > limit) failed(413);
      else new StoredCollector(store, resolve, failed).start();
      return;
    }
    body.read(new BodyCollector(body, limit, resolve, failed));
    request.resumeBody();
  });
}

/** See {@link HttpRequest.storeBody}. */
export function storeWholeBody(request: BodyRequest): Promise<void> | undefined {
  const { body } = request;
  if (body === undefined || body.stored?.isWhole === true) return undefined;
  const waiter = new StoredPromise((status) => bodyError(request, status, request.location.settings.clientMaxBodySize));
  return storeBody(request, waiter) ? undefined : waiter.promise;
}

function bodyError(request: BodyRequest, status: number, limit: number): Error {
  return status === 413 ? tooLarge(request, limit) : new Error('request body not complete');
}

/** The rest of the body is not worth reading for the sake of the connection. */
function tooLarge(request: BodyRequest, limit: number): BodyTooLarge {
  request.keepAlive = false;
  return new BodyTooLarge(limit);
}
