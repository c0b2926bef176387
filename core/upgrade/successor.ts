import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MAX_SOCKET_PATH } from '../contract/address.js';
import type { Connection } from '../net/transport/connection.js';
import { listenOnPath } from '../net/unix-listener.js';
import type { ListeningSocket } from '../net/transport/listening.js';
import { UpgradeChannel } from './channel.js';
import { PROTOCOL, type FromPredecessor, type FromSuccessor, type StatePart, type WelcomeData } from './messages.js';
import { protocolText } from './predecessor.js';
import type { Program } from './program.js';
import { UPGRADE_SOCKET } from './upgrade-mark.js';

/** Time limits of a new program to load and check everything, and to serve with the handed over state. Milliseconds. */
const CHECK_LIMIT = 120_000;
const SERVE_LIMIT = 60_000;
/** Time limit for a killed one to end. */
const KILL_LIMIT = 10_000;
/** Of the folder with the socket, and what makes it unique. */
const NAME = 'upgrade-/s';
const RANDOM_BYTES = 6;

export interface SuccessorOptions {
  /** Starts it. @param environment to be added to this process's */
  readonly start: (environment: Readonly<Record<string, string>>) => Program;
  readonly welcome: WelcomeData;
  /** Of the server, private to this user. It may be missing. */
  readonly folder: string;
}

/** Secrets go over the socket in it: no other user may connect. @throws Error of the system */
function privateFolder(folder: string): string {
  const isUsable = existsSync(folder) && Buffer.byteLength(join(folder, NAME)) + RANDOM_BYTES <= MAX_SOCKET_PATH;
  return mkdtempSync(join(isUsable ? folder : tmpdir(), 'upgrade-'));
}

/** The program that replaces this one. */
export class Successor {
  readonly #folder: string;
  #program: Program | undefined;
  #channel: UpgradeChannel<FromSuccessor, FromPredecessor> | undefined;
  /** Its message about its failure. */
  #said = '';
  #waiting: { readonly kind: FromSuccessor['kind']; readonly resolve: () => void; readonly reject: (error: Error) => void } | undefined;
  #failure: Error | undefined;
  /** Called when it asks for what has changed. */
  onUpdate: () => void = () => undefined;

  constructor(private readonly options: SuccessorOptions) {
    this.#folder = privateFolder(options.folder);
  }

  /** Starts the program. Resolves when it has checked everything and needs the data folder. @throws Error why it cannot */
  async check(): Promise<void> {
    const path = join(this.#folder, 's');
    let listening: ListeningSocket | undefined;
    try {
      listening = await listenOnPath(path, (connection) => this.#connected(connection));
      const program = (this.#program = this.options.start({ [UPGRADE_SOCKET]: path }));
      void program.ended.then((how) => this.#fail(this.#said || program.said || `the new program ${how}, see the error log`));
      await this.#next('checked', CHECK_LIMIT);
    } finally {
      listening?.close();
      rmSync(this.#folder, { recursive: true, force: true });
    }
  }

  get pid(): number | undefined {
    return this.#program?.pid;
  }

  /** Gives it the state; the data folder is free by now. Resolves when it serves. @throws Error why it cannot */
  async handOver(parts: readonly StatePart[]): Promise<void> {
    const serving = this.#next('serving', SERVE_LIMIT);
    this.give(parts);
    await serving;
    this.#program?.leave();
  }

  give(parts: readonly StatePart[]): void {
    this.#channel?.send({ kind: 'state', parts });
  }

  /** The helpers of this program have ended. */
  left(): void {
    this.#channel?.send({ kind: 'left' });
  }

  close(): void {
    this.#channel?.close();
  }

  /** Ends it, after a failure. Resolves when it is gone, and with it whatever it held. */
  async kill(): Promise<void> {
    this.#program?.kill();
    const timer = Promise.withResolvers<void>();
    const limit = setTimeout(timer.resolve, KILL_LIMIT);
    await Promise.race([this.#program?.ended, timer.promise]);
    clearTimeout(limit);
  }

  #connected(connection: Connection): void {
    if (this.#channel !== undefined) return void connection.destroy();
    // The end of its process shows that it has closed its end.
    this.#channel = new UpgradeChannel(
      (message) => this.#take(message),
      () => undefined,
    );
    this.#channel.accept(connection);
  }

  #take(message: FromSuccessor): void {
    if (message.kind === 'hello') this.#greet(message.protocol);
    else if (message.kind === 'say') this.#said += message.text;
    else if (message.kind === 'update') this.onUpdate();
    else if (message.kind === this.#waiting?.kind) {
      this.#waiting.resolve();
      this.#waiting = undefined;
    }
  }

  #greet(protocol: number): void {
    if (protocol === PROTOCOL) this.#channel?.send({ kind: 'welcome', protocol: PROTOCOL, data: this.options.welcome });
    else {
      this.#said = protocolText(protocol);
      this.#channel?.send({ kind: 'refused', reason: this.#said });
    }
  }

  async #next(kind: FromSuccessor['kind'], limit: number): Promise<void> {
    const timer = setTimeout(() => this.#fail(`the new program did not come to an end of its start in ${limit / 1000} s`), limit);
    try {
      await new Promise<void>((resolve, reject) => {
        if (this.#failure !== undefined) return reject(this.#failure);
        this.#waiting = { kind, resolve, reject };
      });
    } finally {
      clearTimeout(timer);
    }
  }

  #fail(reason: string): void {
    this.#failure = new Error(reason);
    this.#waiting?.reject(this.#failure);
    this.#waiting = undefined;
  }
}
