import { RedisFailure, type RedisArgument } from '../../core/contract/redis.js';
import { createClient, type RedisClient } from './redis-client.js';
import { failureOf } from './redis-failure.js';
import type { RedisSettings } from './redis-settings.js';

const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5000;

/** Milliseconds until the next attempt, half of them random: nodes that lost the same Redis come back one after the other. */
export function retryDelay(failures: number, random = Math.random()): number {
  return Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures) * (0.5 + random / 2);
}

export interface LinkOptions {
  /** Its commands block: none has a time limit. */
  readonly blocks: boolean;
  /** Called when it is connected and Redis has responded. */
  readonly ready: (facts: LinkFacts) => void;
  /** Called when the connection is lost, and when an attempt has failed. */
  readonly away: (reason: string) => void;
}

export interface LinkFacts {
  /** Milliseconds. */
  readonly latency: number;
  readonly clockOffset: number;
}

/** One connection to Redis, which is made again without end. */
export class RedisLink {
  #client: RedisClient | undefined;
  #isReady = false;
  #isClosed = false;
  #failures = 0;
  /** Limits an attempt, or begins the next one. */
  #timer: NodeJS.Timeout | undefined;
  #reason = 'not connected yet';

  constructor(
    private readonly settings: RedisSettings,
    private readonly options: LinkOptions,
  ) {}

  get isReady(): boolean {
    return this.#isReady;
  }

  open(): void {
    void this.#connect();
  }

  close(): void {
    this.#isClosed = true;
    this.#isReady = false;
    clearTimeout(this.#timer);
    this.#client?.disconnect();
    this.#client = undefined;
  }

  /** Makes the connection again: a reply is missing, or the server is not the master any more. */
  reset(reason: string): void {
    if (this.#client !== undefined) this.#failed(this.#client, reason);
  }

  /** A client for each attempt: one that has failed while it asked sentinels does not try again. */
  async #connect(): Promise<void> {
    const client = await createClient(this.settings, this.options.blocks);
    if (this.#isClosed) return;
    this.#client = client;
    // The client reports the reason first, and that it was closed after it.
    let reason = 'the connection was closed';
    const isOver = (): void => this.#failed(client, reason);
    client.on('ready', () => void this.#check(client));
    client.on('error', (error: Error) => (reason = failureOf(error, this.settings).message));
    client.on('close', isOver);
    client.on('end', isOver);
    this.#timer = setTimeout(isOver, 2 * this.settings.connectTimeout).unref();
    client.connect().catch((error: Error) => {
      if (!error.message.startsWith('Connection is closed')) reason = failureOf(error, this.settings).message;
      isOver();
    });
  }

  #failed(client: RedisClient, reason: string): void {
    if (client !== this.#client) return;
    this.#client = undefined;
    this.#isReady = false;
    this.#reason = reason;
    client.disconnect();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#connect(), retryDelay(this.#failures++)).unref();
    this.options.away(reason);
  }

  /** @throws RedisFailure */
  async call(name: string, args: readonly RedisArgument[]): Promise<unknown> {
    if (!this.#isReady) throw new RedisFailure('away', this.#reason);
    return this.#send(name, args);
  }

  /** Latency and clock. Redis that does not respond is away. */
  async measure(): Promise<LinkFacts> {
    const began = performance.now();
    const reply = (await this.#send('TIME', [])) as readonly [string, string];
    const latency = performance.now() - began;
    const clockOffset = Number(reply[0]) * 1000 + Number(reply[1]) / 1000 - (Date.now() - latency / 2);
    return { latency, clockOffset };
  }

  async #send(name: string, args: readonly RedisArgument[]): Promise<unknown> {
    const client = this.#client;
    if (client === undefined) throw new RedisFailure('away', this.#reason);
    try {
      return await client.call(name, ...args);
    } catch (error) {
      const failure = failureOf(error as Error, this.settings);
      const { kind, message } = failure;
      // After a failover the address is another one; a late reply would be taken for that of a later command.
      // Commands of a connection that is lost fail later than it: there may be another one by then.
      if (kind === 'lost' || /\b(READONLY|MASTERDOWN|LOADING|NOAUTH)\b/.test(message)) this.#failed(client, message);
      throw failure;
    }
  }

  async #check(client: RedisClient): Promise<void> {
    try {
      const facts = await this.measure();
      // Unlike TIME it is rejected by a server that still loads its data, and by a replica without its master.
      await this.#send('PING', []);
      if (client !== this.#client) return;
      clearTimeout(this.#timer);
      this.#failures = 0;
      this.#isReady = true;
      this.options.ready(facts);
    } catch (error) {
      this.#failed(client, (error as Error).message);
    }
  }
}
