/** A connection that may be closed while it is idle. The links are this list's. */
export interface IdleClient {
  /** Nothing is lost when it is closed. */
  readonly isIdle: boolean;
  /** Closes it, as it is idle. */
  drain(): void;
  olderIdle: IdleClient | undefined;
  newerIdle: IdleClient | undefined;
}

/**
 * The connections of one thread in the order in which they became idle, so that the one idle longest can make room for a new client.
 * A busy one stays where it was, and is passed over: a request costs no more than the one move at its end.
 */
export class IdleClients {
  #oldest: IdleClient | undefined = undefined;
  #newest: IdleClient | undefined = undefined;

  /** It is idle from now on. */
  add(client: IdleClient): void {
    if (client === this.#newest) return;
    this.remove(client);
    client.olderIdle = this.#newest;
    if (this.#newest === undefined) this.#oldest = client;
    else this.#newest.newerIdle = client;
    this.#newest = client;
  }

  /** It is closed. */
  remove(client: IdleClient): void {
    const { olderIdle: older, newerIdle: newer } = client;
    if (older === undefined && this.#oldest !== client) return;
    if (older === undefined) this.#oldest = newer;
    else older.newerIdle = newer;
    if (newer === undefined) this.#newest = older;
    else newer.olderIdle = older;
    client.olderIdle = undefined;
    client.newerIdle = undefined;
  }

  /** Takes out the one that is idle longest; undefined: none is. */
  takeOldest(): IdleClient | undefined {
    for (let client = this.#oldest; client !== undefined; client = this.#oldest) {
      this.remove(client);
      if (client.isIdle) return client;
    }
    return undefined;
  }
}
