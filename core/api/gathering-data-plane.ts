import { AsyncLocalStorage } from 'node:async_hooks';
import type { ActionContext } from '../contract/control.js';
import { DataPlane } from '../contract/data-plane.js';
import { unavailable } from '../changes/unavailable.js';
import { toError, type ReplyMessage, type TransactionParams } from './rpc-messages.js';

type SentCall = TransactionParams['calls'][number];

/** The line to the data plane, on which the calls that several routes make may leave as one. */
export class GatheringDataPlane extends DataPlane {
  readonly #gathered = new AsyncLocalStorage<GatheredCall<unknown>>();

  constructor(private readonly dataPlane?: DataPlane) {
    super();
  }

  call<T>(action: string, params: unknown, context: ActionContext): Promise<T> {
    const gathered = this.#gathered.getStore();
    if (gathered !== undefined) return gathered.take(action, params, context) as Promise<T>;
    if (this.dataPlane === undefined) throw unavailable('is not connected');
    return this.dataPlane.call(action, params, context);
  }

  /** The caller is one of several routes that are carried out together. */
  get isGathering(): boolean {
    return this.#gathered.getStore() !== undefined;
  }

  /** Begins a route whose call of the data plane is held back. */
  gather<R>(route: () => Promise<R>): GatheredCall<R> {
    const call = new GatheredCall<R>();
    call.begin(this.#gathered.run(call, route));
    return call;
  }
}

/** A route that waits for the data plane. */
export class GatheredCall<R> {
  /** Resolves when the route has made its call, or has responded without one. */
  readonly ready: Promise<void>;
  sent: SentCall | undefined;
  #response: Promise<R> | undefined;
  readonly #reply = Promise.withResolvers<unknown>();
  readonly #isReady = Promise.withResolvers<void>();

  constructor() {
    this.ready = this.#isReady.promise;
    // A route that never asked for it does not look at it.
    this.#reply.promise.catch(() => undefined);
  }

  /** @param response of the route, which never rejects */
  begin(response: Promise<R>): void {
    this.#response = response;
    void response.then(() => this.#isReady.resolve());
  }

  async take(action: string, params: unknown, { ifMatch, ifNoneMatch }: ActionContext): Promise<unknown> {
    if (this.sent !== undefined) throw new Error(`a route of a transaction calls the data plane once: "${action}" is its second call`);
    this.sent = { action, params, ...(ifMatch !== undefined && { ifMatch }), ...(ifNoneMatch !== undefined && { ifNoneMatch }) };
    this.#isReady.resolve();
    return this.#reply.promise;
  }

  settle(reply: ReplyMessage): void {
    if ('error' in reply) this.#reply.reject(toError(reply.error));
    else this.#reply.resolve(reply.value);
  }

  /** Of the route. After {@link settle}, or if it has made no call. */
  get response(): Promise<R> {
    if (this.#response === undefined) throw new Error('the route has not begun');
    return this.#response;
  }
}
