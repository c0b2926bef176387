import { BodyStore, type StoreWriter } from './body-store.js';
import type { BodyReader, BodyRequest } from './request-body.js';

/** Waits until the body of a request is stored. */
export interface BodyWaiter {
  onBodyStored(): void;
  /** The client went away, was too slow or sent nonsense (see {@link BodyReader.onBodyFailed}); 500: the disk failed. */
  onBodyFailed(status: number): void;
}

/**
 * The whole body of a request, stored as fast as the client sends it: up to client_body_buffer_size in memory, a longer one in a file. It stays
 * until the request is over, for as many readers as there are: members, modules, variables, mirrors.
 */
export class StoredBody implements BodyReader, StoreWriter {
  readonly store: BodyStore;
  /** It is complete. */
  isWhole = false;
  waiter: BodyWaiter | undefined = undefined;
  /** Requests that it is the body of. */
  #users = 1;
  #hasEnded = false;

  constructor(private readonly request: BodyRequest) {
    this.store = new BodyStore(request, request.location.settings.clientBodyStore, this, true);
  }

  /** It is the body of another request as well. */
  share(): void {
    this.#users++;
  }

  /** One of its requests is over. */
  release(): void {
    this.#users--;
    if (this.#users === 0) this.store.close();
  }

  onBody(chunk: Buffer, borrowed: boolean): void {
    this.store.append(chunk, borrowed);
    if (this.store.isFull) this.request.pauseBody();
  }

  onBodyEnd(): void {
    this.store.end();
    this.#hasEnded = true;
    this.#settle();
  }

  onBodyFailed(status: number): void {
    this.#take()?.onBodyFailed(status);
  }

  onStoreRoom(): void {
    if (this.#hasEnded) this.#settle();
    else this.request.resumeBody();
  }

  onStoreLost(): void {
    this.request.body?.returnBody(this, undefined);
    this.#take()?.onBodyFailed(500);
  }

  #settle(): void {
    if (this.isWhole || !this.store.isSettled) return;
    this.isWhole = true;
    this.#take()?.onBodyStored();
  }

  #take(): BodyWaiter | undefined {
    const { waiter } = this;
    this.waiter = undefined;
    return waiter;
  }
}

/**
 * Stores the body of a request, unless that has been done.
 * @returns true: it is stored, or there is none; else the waiter is called, now or later
 */
export function storeBody(request: BodyRequest, waiter: BodyWaiter): boolean {
  const { body } = request;
  if (body === undefined || body.isDiscarded || body.stored?.isWhole === true) return true;
  const stored = (body.stored ??= new StoredBody(request));
  request.wantBody();
  body.read(stored);
  if (stored.isWhole) return true;
  if (body.failure > 0) {
    waiter.onBodyFailed(body.failure);
    return false;
  }
  stored.waiter = waiter;
  request.resumeBody();
  return false;
}

/** A handler of a module that waits for a stored body. */
export class StoredPromise implements BodyWaiter {
  readonly promise: Promise<void>;
  #resolve: () => void = () => undefined;
  #reject: (error: Error) => void = () => undefined;

  /** @param errorOf what a failure with a status is thrown as */
  constructor(private readonly errorOf: (status: number) => Error) {
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  onBodyStored(): void {
    this.#resolve();
  }

  onBodyFailed(status: number): void {
    this.#reject(this.errorOf(status));
  }
}
