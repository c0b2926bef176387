import { closeSync, rmSync, statSync } from 'node:fs';
import type { HelperSocket } from '../helper/helper-start.js';
import type { SocketRequest } from '../net/socket-source.js';
import type { InheritedSocket } from '../upgrade/inherited-socket.js';
import type { BoundSocket, BoundSockets } from './bound-sockets.js';
import { inodeOf } from './upgrade.js';

/** Sockets of the program that this one replaces. Each is used once: a worker that dies closes its own, and the one after it binds another. */
export class InheritedSockets implements BoundSockets {
  /** By key, then by the number of the worker. */
  readonly #sockets = new Map<string, Map<number, number>>();
  /** By what names the helper. */
  readonly #ofHelpers = new Map<string, HelperSocket[]>();
  /** Files of unix sockets, with their inodes. */
  readonly #files = new Map<string, number>();

  constructor(sockets: readonly InheritedSocket[]) {
    for (const { key, owner, descriptor, inode } of sockets) {
      if (inodeOf(descriptor) !== inode) continue;
      if (typeof owner === 'number') this.#sockets.set(key, (this.#sockets.get(key) ?? new Map<number, number>()).set(owner, descriptor));
      else this.#ofHelpers.set(owner, [...(this.#ofHelpers.get(owner) ?? []), { key, descriptor }]);
    }
  }

  /** An address with open sockets needs no try. */
  async reserve({ key }: SocketRequest): Promise<boolean> {
    return this.#sockets.has(key);
  }

  async open({ key, path }: SocketRequest, worker: number): Promise<BoundSocket | undefined> {
    const descriptor = this.#sockets.get(key)?.get(worker);
    if (descriptor === undefined) return undefined;
    this.#sockets.get(key)?.delete(worker);
    const inode = path === undefined ? undefined : statSync(path, { throwIfNoEntry: false })?.ino;
    if (path !== undefined && inode !== undefined) this.#files.set(path, inode);
    return { descriptor, passOn: () => undefined, close: () => closeSync(descriptor) };
  }

  /** The sockets of a helper, which closes them. */
  takeOf(helper: string): readonly HelperSocket[] {
    const sockets = this.#ofHelpers.get(helper) ?? [];
    this.#ofHelpers.delete(helper);
    return sockets;
  }

  release(key: string): void {
    for (const descriptor of this.#sockets.get(key)?.values() ?? []) closeSync(descriptor);
    this.#sockets.delete(key);
  }

  async releaseWorkers(): Promise<void> {
    // Workers have theirs for themselves.
  }

  /** Closes what no worker has asked for: of addresses that are gone, and of workers that this program does not have. */
  closeRest(): void {
    for (const key of this.#sockets.keys()) this.release(key);
  }

  /** Closes what no helper has asked for. */
  closeRestOfHelpers(): void {
    for (const { descriptor } of [...this.#ofHelpers.values()].flat()) closeSync(descriptor);
    this.#ofHelpers.clear();
  }

  /** The server ends: removes the files of unix sockets, unless others have put theirs there. */
  removeFiles(): void {
    for (const [path, inode] of this.#files) if (statSync(path, { throwIfNoEntry: false })?.ino === inode) rmSync(path, { force: true });
    this.#files.clear();
  }
}
