import { Channels, type Channel, type ChannelOptions } from '../contract/channels.js';
import type { Log } from '../contract/log.js';
import { stackOf } from '../contract/thrown.js';
import type { LimitedCall } from './call-limit.js';
import type { ChannelHub, ChannelUser } from './channel-hub.js';
import type { Belonging } from './module-life.js';

/** The channels of one module in one thread. */
export class ModuleChannels extends Channels implements Belonging {
  readonly #opened = new Map<string, ModuleChannel>();
  #state: 'made' | 'begun' | 'ended' = 'made';

  /**
   * @param module its name
   * @param log the server's, without the module's name
   */
  constructor(
    private readonly module: string,
    private readonly hub: ChannelHub,
    private readonly log: Log,
    private readonly limited: LimitedCall,
  ) {
    super();
  }

  open<T, C = never, M = never>(name: string, options?: ChannelOptions<T, C, M>): Channel<T, C, M>;
  open(name: string, options: ChannelOptions<unknown, unknown, unknown> = {}): Channel<unknown, unknown, unknown> {
    if (this.#state === 'ended') throw new Error(`module "${this.module}" may open no channels after its "stop"`);
    if (this.#opened.has(name)) throw new Error(`module "${this.module}" has opened channel "${name}" already`);
    const channel = new ModuleChannel(`${this.module} ${name}`, options, this.hub, (step) => this.#attempt(name, step));
    this.#opened.set(name, channel);
    if (this.#state === 'begun') channel.begin();
    return channel;
  }

  /** One that is made for a configuration that is rejected never begins. */
  begin(): void {
    this.#state = 'begun';
    for (const channel of this.#opened.values()) channel.begin();
  }

  close(): void {
    this.#state = 'ended';
    for (const channel of this.#opened.values()) channel.close();
    this.#opened.clear();
  }

  #attempt(name: string, step: () => void): void {
    try {
      this.limited(step);
    } catch (error) {
      this.log.write('error', `module "${this.module}": channel "${name}" failed: ${stackOf(error)}`);
    }
  }
}

class ModuleChannel implements Channel<unknown, unknown, unknown>, ChannelUser {
  #hasBegun = false;

  /** @param attempt logs what a step throws */
  constructor(
    private readonly key: string,
    private readonly options: ChannelOptions<unknown, unknown, unknown>,
    private readonly hub: ChannelHub,
    private readonly attempt: (step: () => void) => void,
  ) {}

  begin(): void {
    this.#hasBegun = true;
    this.hub.open(this.key, this);
  }

  get value(): unknown {
    return this.hub.valueOf(this.key);
  }

  async publish(value: unknown): Promise<void> {
    if (!this.#hasBegun) throw new Error('a channel begins with "start": nothing is published before');
    await this.hub.publish(this.key, value);
  }

  async change(change: unknown): Promise<void> {
    if (this.options.apply === undefined) throw new Error('"change" of a channel needs "apply" in its options');
    if (this.value === undefined) throw new Error('a channel without a value cannot be changed: publish one first');
    await this.hub.change(this.key, change);
  }

  tell(message: unknown): void {
    this.hub.tell(this.key, message);
  }

  close(): void {
    this.hub.close(this.key, this);
  }

  apply(value: unknown, change: unknown): unknown {
    let next = value;
    this.attempt(() => (next = this.options.apply?.(value, change)));
    return next;
  }

  changed(value: unknown): void {
    this.attempt(() => this.options.changed?.(value));
  }

  told(message: unknown, worker: number): void {
    this.attempt(() => this.options.told?.(message, worker));
  }
}
