import type { ActionContext, ApiError, AppliedChange } from '../contract/control.js';
import { DataPlane } from '../contract/data-plane.js';
import type { Log } from '../contract/log.js';
import { REPLY_TOPIC, CALL_TOPIC } from './bus-endpoint.js';
import type { BusClient } from './bus.js';
import { Assembler, MessageTooLong, split, type Message } from './frames.js';
import { unavailable } from '../changes/unavailable.js';
import { CALL_LIMIT, decode, encodeCall, HELLO, toError, type ReturnMessage } from './rpc-messages.js';

/** How often the control process asks whether the master is on the bus as well (ms). */
const HELLO_EVERY = 50;

/** How slowly a long call may travel: a list of 100,000 members takes its time on a busy machine. */
const BYTES_PER_MS = 4096;

interface Pending {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: ApiError) => void;
  readonly applied: ((change: AppliedChange) => void) | undefined;
  timer: NodeJS.Timeout;
}

/**
 * The control process's line to the master: each call is one request and one reply over the bus, or a 503 in time. After every connect it
 * says hello until the master replies, because a call that comes before the master's subscription would be lost.
 */
export class BusDataPlane extends DataPlane {
  readonly #pending = new Map<string, Pending>();
  readonly #assembler = new Assembler();
  readonly #waiting = new Set<() => void>();
  #calls = 0;
  #present = false;
  #hello: NodeJS.Timeout | undefined;

  constructor(
    private readonly client: BusClient,
    private readonly log: Log,
    /** Milliseconds without a sign of life after which a call fails. */
    public limit = CALL_LIMIT,
  ) {
    super();
  }

  start(): void {
    this.client.start(`${REPLY_TOPIC}/${this.client.id}`, {
      message: (_, packet) => {
        for (const message of this.#assembler.add(packet)) this.#take(message);
      },
      connected: () => this.#greet(),
      lost: () => this.#lost(),
    });
  }

  async stop(): Promise<void> {
    this.#lost();
    for (const release of this.#waiting) release();
    await this.client.stop();
  }

  async call<T>(action: string, params: unknown, context: ActionContext): Promise<T> {
    const called = Date.now();
    if (!(await this.#whenPresent(this.limit))) throw unavailable('is not connected');
    const { dryRun, ifMatch, ifNoneMatch, requestId, actor = '', message = '', wait = 0 } = context;
    const id = `${this.client.id}.${++this.#calls}`;
    const body = JSON.stringify(params ?? null);
    const deadline = called + this.limit + body.length / BYTES_PER_MS;
    const frames = splitCall(id, encodeCall(action, body, { dryRun, ifMatch, ifNoneMatch, requestId, actor, message, wait, deadline }));
    const reply = this.#expect(id, Math.max(0, deadline - Date.now()), context.applied);
    for (const frame of frames) {
      if (!this.client.send(`${CALL_TOPIC}/${this.client.id}`, frame)) this.#settle(id)?.reject(unavailable('is not connected'));
    }
    return (await reply) as T;
  }

  #expect(id: string, ms: number, applied: Pending['applied']): Promise<unknown> {
    return new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject, applied, timer: this.#timer(id, ms) }));
  }

  /** The data plane says that it takes longer. */
  #waitOn(id: string, ms: number): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    clearTimeout(pending.timer);
    pending.timer = this.#timer(id, ms);
  }

  #timer(id: string, ms: number): NodeJS.Timeout {
    const text = 'did not respond in time: GET shows whether a change was made';
    return setTimeout(() => this.#settle(id)?.reject(unavailable(text)), ms);
  }

  #settle(id: string): Pending | undefined {
    const pending = this.#pending.get(id);
    if (pending === undefined) return undefined;
    clearTimeout(pending.timer);
    this.#pending.delete(id);
    return pending;
  }

  async #whenPresent(ms: number): Promise<boolean> {
    if (this.#present) return true;
    await new Promise<void>((resolve) => {
      const release = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(release);
        resolve();
      };
      const timer = setTimeout(release, ms);
      this.#waiting.add(release);
    });
    return this.#present;
  }

  #greet(): void {
    clearInterval(this.#hello);
    const [frame] = split(HELLO, Buffer.alloc(0));
    const say = (): void => void (frame && this.client.send(`${CALL_TOPIC}/${this.client.id}`, frame));
    this.#hello = setInterval(say, HELLO_EVERY);
    say();
  }

  #met(): void {
    clearInterval(this.#hello);
    this.#present = true;
    for (const release of this.#waiting) release();
  }

  #lost(): void {
    clearInterval(this.#hello);
    this.#present = false;
    // Their replies cannot arrive any more; a later GET shows if they were carried out.
    for (const id of this.#pending.keys())
      this.#settle(id)?.reject(unavailable('was disconnected before it responded: GET shows whether a change was made'));
  }

  #take(message: Message | { readonly pending: string }): void {
    if ('id' in message && message.id === HELLO) {
      this.#met();
      return;
    }
    if ('pending' in message) {
      // A long reply on its way: the limit is for silence.
      this.#pending.get(message.pending)?.timer.refresh();
      return;
    }
    const reply = decode(message.bytes) as ReturnMessage | undefined;
    if (reply !== undefined && 'wait' in reply) {
      this.#waitOn(message.id, reply.wait);
      return;
    }
    const pending = this.#settle(message.id);
    // None: the caller was notified that it came too late.
    if (pending === undefined) return;
    if (reply === undefined) {
      this.log.write('error', `bus: unreadable response ${message.id}`);
      pending.reject(unavailable('sent an unreadable response'));
      return;
    }
    if (reply.applied !== undefined) pending.applied?.(reply.applied);
    if ('error' in reply) pending.reject(toError(reply.error));
    else pending.resolve(reply.value);
  }
}

function splitCall(id: string, bytes: Buffer): Buffer[] {
  try {
    return split(id, bytes);
  } catch (error) {
    if (error instanceof MessageTooLong) throw unavailable(`cannot receive this request: ${error.message}`);
    throw error;
  }
}
