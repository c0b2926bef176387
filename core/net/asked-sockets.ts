import { systemError } from './socket-error.js';
import type { ELSEWHERE, SocketRequest, SocketSource } from './socket-source.js';

/** A descriptor that the caller owns from now on; without one it binds for itself. Or the error code of the system. */
export type SocketResult = { readonly descriptor: number | typeof ELSEWHERE | undefined } | { readonly error: string };

/** Sockets that another thread or process has for this one, and is asked for. */
export class AskedSockets implements SocketSource {
  readonly #waiting = new Map<number, PromiseWithResolvers<number | typeof ELSEWHERE | undefined>>();
  #requests = 0;

  /** @param release no socket will be requested any more */
  constructor(
    private readonly ask: (id: number, request: SocketRequest) => void,
    readonly release?: (key: string) => void,
  ) {}

  open(request: SocketRequest): Promise<number | typeof ELSEWHERE | undefined> {
    const id = ++this.#requests;
    const waiting = Promise.withResolvers<number | typeof ELSEWHERE | undefined>();
    this.#waiting.set(id, waiting);
    this.ask(id, request);
    return waiting.promise;
  }

  take(id: number, result: SocketResult): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if ('error' in result) waiting?.reject(systemError(result.error));
    else waiting?.resolve(result.descriptor);
  }
}
