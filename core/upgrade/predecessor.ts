import type { ControlListener } from '../net/control-listeners.js';
import { Dialer } from '../net/dialer.js';
import type { InheritedSocket } from './inherited-socket.js';
import { UpgradeChannel } from './channel.js';
import { PROTOCOL, type FromPredecessor, type FromSuccessor, type StatePart, type WelcomeData } from './messages.js';

/** The server that this program replaces. */
export class Predecessor {
  readonly #channel: UpgradeChannel<FromPredecessor, FromSuccessor>;
  #waiting: { readonly kind: FromPredecessor['kind']; readonly resolve: (message: FromPredecessor) => void } | undefined;
  #reject: ((error: Error) => void) | undefined;
  #hasEnded = false;
  #data: WelcomeData = { secret: '', sockets: [], control: [] };
  /** Called with what changes while it finishes its requests. */
  onState: (parts: readonly StatePart[]) => void = () => undefined;
  readonly #ended = Promise.withResolvers<void>();

  private constructor() {
    this.#channel = new UpgradeChannel(
      (message) => this.#take(message),
      () => this.#end(),
    );
  }

  /** @param path of the socket in the environment @throws Error where the two cannot work together */
  static async connect(path: string, version: string): Promise<Predecessor> {
    const predecessor = new Predecessor();
    await predecessor.#channel.connect(Dialer.plain(), path);
    const welcome = predecessor.#next('welcome');
    predecessor.#channel.send({ kind: 'hello', protocol: PROTOCOL, version, pid: process.pid });
    const { protocol, data } = await welcome;
    if (protocol !== PROTOCOL) throw new Error(protocolText(protocol));
    predecessor.#data = data;
    return predecessor;
  }

  /** Source of all secrets: earlier sessions and cookies stay valid. */
  get secret(): Uint8Array {
    return Buffer.from(this.#data.secret, 'base64');
  }

  /** Listening sockets of its workers and helpers. */
  get sockets(): readonly InheritedSocket[] {
    return this.#data.sockets;
  }

  /** Where its control plane listens. */
  get control(): readonly ControlListener[] {
    return this.#data.control;
  }

  /** Resolves when it has finished its last request, or is gone. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** For the caller of the upgrade. */
  say(text: string): void {
    this.#channel.send({ kind: 'say', text });
  }

  /** Asks for data folder and state. From here on until {@link serving} it accepts no change. */
  async takeOver(): Promise<readonly StatePart[]> {
    const state = this.#next('state');
    this.#channel.send({ kind: 'checked' });
    return (await state).parts;
  }

  /** Later changes of the state. */
  async update(): Promise<readonly StatePart[]> {
    const state = this.#next('state');
    this.#channel.send({ kind: 'update' });
    return (await state).parts;
  }

  /** This program serves: it may leave. Resolves when its helpers have ended. */
  async serving(): Promise<void> {
    const left = this.#next('left');
    this.#channel.send({ kind: 'serving' });
    // Killed at this moment, its helpers end as well.
    await left.catch(() => undefined);
  }

  #next<K extends FromPredecessor['kind']>(kind: K): Promise<Extract<FromPredecessor, { kind: K }>> {
    return new Promise((resolve, reject) => {
      if (this.#hasEnded) return reject(new Error(GONE));
      this.#waiting = { kind, resolve: resolve as (message: FromPredecessor) => void };
      this.#reject = reject;
    });
  }

  #take(message: FromPredecessor): void {
    if (message.kind === 'refused') {
      this.#reject?.(new Error(message.reason));
    } else if (message.kind === this.#waiting?.kind) {
      this.#waiting.resolve(message);
      this.#waiting = undefined;
    } else if (message.kind === 'state') this.onState(message.parts);
  }

  #end(): void {
    this.#hasEnded = true;
    this.#reject?.(new Error(GONE));
    this.#ended.resolve();
  }
}

const GONE = 'the server that was to be upgraded is gone';

export const protocolText = (protocol: number): string =>
  `the running server and the new program cannot work together (upgrade protocol ${protocol} and ${PROTOCOL}): stop the server and start the new one`;
