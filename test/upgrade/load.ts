import { request, type RequestOptions } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** Clients that do something again and again. What fails is kept. */
export class Load {
  readonly failures: string[] = [];
  done = 0;
  #isOver = false;
  readonly #ended: Promise<unknown>;

  constructor(clients: Readonly<Record<string, () => Promise<void>>>) {
    this.#ended = Promise.all(Object.entries(clients).map(([name, client]) => this.#run(name, client)));
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#ended;
  }

  async #run(name: string, client: () => Promise<void>): Promise<void> {
    while (!this.#isOver) {
      try {
        await client();
        this.done++;
      } catch (error) {
        this.failures.push(`${name}: ${(error as Error).message}`);
      }
      await sleep(1);
    }
  }
}

/** A request whose response is 200. */
export function fetched(options: RequestOptions): () => Promise<void> {
  return () =>
    new Promise((resolve, reject) => {
      const outgoing = request({ path: '/', ...options }, (response) => {
        response.resume();
        response.once('end', () => (response.statusCode === 200 ? resolve() : reject(new Error(`status ${response.statusCode}`))));
        response.once('error', reject);
      });
      outgoing.once('error', reject);
      outgoing.end();
    });
}
