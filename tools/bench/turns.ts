/** Runs steps one at a time, in the order in which they were asked for: who asks again waits until all others had their turn. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  take<T>(step: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(step);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}
