import type { ApartWork } from '../../net/listener-set.js';

/** A request that the server makes itself. */
export interface OwnRequest {
  /** Epoch milliseconds. */
  readonly began: number;
  /** Ends it now. */
  cancel(): void;
}

/** Requests of the server itself that are under way in a thread: mirrored ones and others have no client, so that no connection knows them. */
export class OwnRequestSet implements ApartWork {
  readonly #underWay = new Set<OwnRequest>();
  #isClosed = false;

  get size(): number {
    return this.#underWay.size;
  }

  /** The engine is about to end: requests without a client are not begun any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  add(request: OwnRequest): void {
    this.#underWay.add(request);
  }

  delete(request: OwnRequest): void {
    this.#underWay.delete(request);
  }

  close(): void {
    this.#isClosed = true;
  }

  cutOff(time: number): number {
    const old = [...this.#underWay].filter(({ began }) => began < time);
    for (const request of old) request.cancel();
    return old.length;
  }
}
