import type { Replica, Replicated } from '../changes/participant.js';

/** The replicated channels of all modules. */
const REPLICATED = 'module channels';

/** Messages of the main thread to workers on one channel. */
interface ChannelMessage {
  readonly key: string;
  readonly kind: 'value' | 'change' | 'end';
  readonly data?: unknown;
}

/** A message of a worker. */
export interface ToldMessage {
  readonly key: string;
  readonly data: unknown;
}

/** A module that has opened a channel in this thread. Nothing of it throws. */
export interface ChannelUser {
  apply(value: unknown, change: unknown): unknown;
  changed(value: unknown): void;
  told(message: unknown, worker: number): void;
}

/** The channels of one thread, by module and name. */
export abstract class ChannelHub {
  readonly #values = new Map<string, unknown>();
  readonly #users = new Map<string, ChannelUser[]>();

  valueOf(key: string): unknown {
    return this.#values.get(key);
  }

  open(key: string, user: ChannelUser): void {
    this.#users.set(key, [...(this.#users.get(key) ?? []), user]);
  }

  /** The last user of a channel ends it in this thread. */
  close(key: string, user: ChannelUser): void {
    const left = this.#users.get(key)?.filter((one) => one !== user) ?? [];
    if (left.length > 0) return void this.#users.set(key, left);
    if (this.#users.delete(key)) this.ended(key);
  }

  abstract publish(key: string, value: unknown): Promise<void>;
  abstract change(key: string, change: unknown): Promise<void>;
  abstract tell(key: string, message: unknown): void;

  /** The channel is not used in this thread any more. */
  protected abstract ended(key: string): void;

  protected setValue(key: string, value: unknown): void {
    this.#values.set(key, value);
  }

  protected forget(key: string): void {
    this.#values.delete(key);
  }

  protected entries(): [key: string, value: unknown][] {
    return [...this.#values];
  }

  /** That of the module's newest object, where a reload has made another one. */
  protected userOf(key: string): ChannelUser | undefined {
    return this.#users.get(key)?.at(-1);
  }

  protected usersOf(key: string): readonly ChannelUser[] {
    return this.#users.get(key) ?? [];
  }
}

/** Channels of the main thread. */
export class MasterChannels extends ChannelHub implements Replicated {
  readonly channel = REPLICATED;

  /** @param tellWorkers resolves when all workers have taken it, or were too busy to */
  constructor(private readonly tellWorkers: (channel: string, data: unknown) => Promise<void>) {
    super();
  }

  snapshot(): unknown {
    return this.entries();
  }

  publish(key: string, value: unknown): Promise<void> {
    // The publisher may change it.
    this.setValue(key, structuredClone(value));
    return this.#send({ key, kind: 'value', data: value });
  }

  change(key: string, change: unknown): Promise<void> {
    const data: unknown = structuredClone(change);
    this.setValue(key, this.userOf(key)?.apply(this.valueOf(key), data));
    return this.#send({ key, kind: 'change', data: change });
  }

  tell(): never {
    throw new Error('"tell" of a channel is for workers: the main thread publishes');
  }

  /** A message of a worker. */
  take({ key, data }: ToldMessage, worker: number): void {
    this.userOf(key)?.told(data, worker);
  }

  protected ended(key: string): void {
    this.forget(key);
    void this.#send({ key, kind: 'end' });
  }

  #send(message: ChannelMessage): Promise<void> {
    return this.tellWorkers(REPLICATED, message);
  }
}

/** Channels of a worker. */
export class WorkerChannels extends ChannelHub implements Replica {
  readonly channel = REPLICATED;
  /** Changes received before their module existed. */
  readonly #early = new Map<string, unknown[]>();

  constructor(private readonly tellMaster: (message: ToldMessage) => void) {
    super();
  }

  load(snapshot: unknown): void {
    for (const [key, data] of snapshot as readonly (readonly [string, unknown])[]) this.take({ key, kind: 'value', data });
  }

  take(message: unknown): void {
    const { key, kind, data } = message as ChannelMessage;
    if (kind === 'end') {
      this.#early.delete(key);
      return this.forget(key);
    }
    if (kind === 'value') this.#set(key, data);
    else this.#change(key, data);
    for (const user of this.usersOf(key)) user.changed(this.valueOf(key));
  }

  override open(key: string, user: ChannelUser): void {
    super.open(key, user);
    const early = this.#early.get(key);
    if (early === undefined) return;
    this.#early.delete(key);
    for (const change of early) this.#change(key, change);
    user.changed(this.valueOf(key));
  }

  publish(): Promise<never> {
    return Promise.reject(onlyInMaster());
  }

  change(): Promise<never> {
    return Promise.reject(onlyInMaster());
  }

  tell(key: string, data: unknown): void {
    this.tellMaster({ key, data });
  }

  /** The value stays for the object of the module that may come: the main thread ends it. */
  protected ended(): void {}

  #set(key: string, value: unknown): void {
    this.#early.delete(key);
    this.setValue(key, value);
  }

  #change(key: string, change: unknown): void {
    const user = this.userOf(key);
    if (user !== undefined) return this.setValue(key, user.apply(this.valueOf(key), change));
    this.#early.set(key, [...(this.#early.get(key) ?? []), change]);
  }
}

function onlyInMaster(): Error {
  return new Error('a channel is published in the main thread: workers "tell" it');
}
