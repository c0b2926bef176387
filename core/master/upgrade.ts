import { fstatSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MasterParent } from './master-parent.js';
import type { Log } from '../contract/log.js';
import type { InheritedSocket } from '../upgrade/inherited-socket.js';
import type { StatePart } from '../upgrade/messages.js';
import { FIRST_INHERITED, type Program } from '../upgrade/program.js';
import { stateGiver } from '../upgrade/state-parts.js';
import { Successor } from '../upgrade/successor.js';
import type { CarriedState } from '../zone/carried-state.js';
import type { TransactionQueue } from '../changes/transactions.js';
import type { HelperSet } from './helper-set.js';
import type { WorkerPool } from './worker-pool.js';

/** How often a program that finishes its requests says what has changed. Milliseconds. */
const UPDATE_MS = 1000;
/** How long the data folder may be in use by a program that was ended, and how often one looks. Milliseconds. */
const REOPEN_MS = 10_000;
const REOPEN_POLL = 50;

/** A socket that a worker or helper listens on; its descriptor is one of this process. */
export interface OpenSocket extends InheritedSocket {
  /** To be called when it has been passed on. */
  readonly close?: () => void;
}

export interface UpgradeOptions {
  readonly log: Log;
  readonly secret: Uint8Array;
  readonly dataFolder: string;
  readonly carried: readonly CarriedState[];
  readonly workers: Pick<WorkerPool, 'sockets' | 'moveFlows'>;
  readonly helpers: Pick<HelperSet, 'sockets' | 'listeners'>;
  readonly start: (environment: Readonly<Record<string, string>>, descriptors: readonly number[]) => Program;
  /** Holds the sockets, and starts the new program. Undefined: this process does. */
  readonly parent: Pick<MasterParent, 'startProgram'> | undefined;
  readonly queue: Pick<TransactionQueue, 'handOver'>;
  /** Files of the data folder, the main one first. */
  readonly stores: readonly { release(): void; reopen(): void }[];
}

/** Replaces this server with a new program, which takes its sockets, its data folder and its state over. */
export class Upgrade {
  #next: (() => readonly StatePart[]) | undefined;
  #successor: Successor | undefined;
  #updates: NodeJS.Timeout | undefined;

  constructor(private readonly options: UpgradeOptions) {}

  /**
   * Resolves when the new program serves.
   * @returns why it does not, for the caller: this server goes on unchanged. Empty: it serves
   */
  async run(): Promise<string> {
    const { log } = this.options;
    log.write('notice', 'upgrade: starting the new program');
    try {
      const pid = await this.#run();
      log.write('notice', `upgrade: process ${pid} serves, this one finishes its requests`);
      return '';
    } catch (error) {
      const { message } = error as Error;
      for (const line of message.trimEnd().split('\n')) log.write('error', `upgrade failed: ${line}`);
      return message.startsWith('srv: ') ? message : `srv: [error] upgrade failed: ${message}\n`;
    }
  }

  async #run(): Promise<number | undefined> {
    const { options } = this;
    const { workers, helpers, queue, parent } = options;
    const all = parent === undefined ? [...(await workers.sockets()), ...(await helpers.sockets())] : [];
    const sockets = all.filter(isOpen);
    const successor = (this.#successor = new Successor({
      welcome: {
        secret: Buffer.from(options.secret).toString('base64'),
        sockets: sockets.map(({ key, owner, inode }, at) => ({ key, owner, inode, descriptor: FIRST_INHERITED + at })),
        control: helpers.listeners,
      },
      folder: options.dataFolder,
      start: (environment) => {
        if (parent !== undefined) return parent.startProgram(environment);
        return options.start(
          environment,
          sockets.map(({ descriptor }) => descriptor),
        );
      },
    }));
    try {
      await successor.check().finally(() => all.forEach(({ close }) => close?.()));
      options.log.write('notice', `upgrade: process ${successor.pid} has checked its configuration`);
      await queue.handOver(() => this.#handOver(successor));
    } catch (error) {
      await successor.kill();
      throw error;
    }
    return successor.pid;
  }

  /** The helpers of this server have ended. */
  left(): void {
    this.#successor?.left();
  }

  /** The last request of this server is over. */
  close(): void {
    clearInterval(this.#updates);
    this.#update();
    this.#successor?.close();
  }

  async #handOver(successor: Successor): Promise<void> {
    const { stores, carried } = this.options;
    for (const store of stores.toReversed()) store.release();
    try {
      this.#next = stateGiver(carried);
      successor.onUpdate = () => void this.#serveNext(successor);
      await successor.handOver(this.#next());
    } catch (error) {
      // It holds the folder as long as it lives.
      await successor.kill();
      await reopened(stores);
      throw error;
    }
    this.#updates = setInterval(() => this.#update(), UPDATE_MS);
  }

  /** It opens its sockets with the response. */
  async #serveNext(successor: Successor): Promise<void> {
    await this.options.workers.moveFlows();
    successor.give(this.#next?.() ?? []);
  }

  #update(): void {
    const parts = this.#next?.() ?? [];
    if (parts.length > 0) this.#successor?.give(parts);
  }
}

/** Its server may end a moment later than its parent. @throws StoreError */
async function reopened(stores: UpgradeOptions['stores']): Promise<void> {
  for (const until = Date.now() + REOPEN_MS; ; await sleep(REOPEN_POLL)) {
    try {
      for (const store of stores) store.reopen();
      return;
    } catch (error) {
      if (Date.now() > until) throw error;
    }
  }
}

/** A worker may have closed it since. */
const isOpen = ({ descriptor, inode }: OpenSocket): boolean => inode !== 0 && inodeOf(descriptor) === inode;

/** Identity of a socket; 0: the descriptor is closed. */
export function inodeOf(descriptor: number): number {
  try {
    return fstatSync(descriptor).ino;
  } catch {
    return 0;
  }
}
