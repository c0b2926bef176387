import type { Log } from '../contract/log.js';
import type { MasterParent } from './master-parent.js';
import { removePidFile, writePidFile } from './pid-file.js';
import { removeReloadFile, writeReloadFile, type ReloadState } from './reload-file.js';

/** Suffix of nginx for the name while a replaced program finishes its requests. */
const OLD = '.oldbin';

/** The files that others find this process by: the pid file, and beside it how reloads went. A parent writes its own. */
export class ProcessFiles {
  #path: string | undefined;

  constructor(
    private readonly parent: MasterParent | undefined,
    private readonly log: Log,
  ) {}

  /** Writes the pid file, and removes the one that it had before a reload. @throws Error in the words of nginx */
  async follow(path: string): Promise<void> {
    const before = this.#path;
    if (before === path) return;
    await this.#write(path);
    if (before !== undefined) this.#remove(before);
  }

  /** As {@link follow}, when it is too late to reject. */
  async move(path: string): Promise<void> {
    try {
      await this.follow(path);
    } catch (error) {
      this.log.write('emerg', `the pid file stays "${this.#path}": ${(error as Error).message}`);
    }
  }

  /** A program that was to take the pid file over has failed. */
  async restore(): Promise<void> {
    if (this.#path !== undefined) await this.#write(this.#path).catch((error: Error) => this.log.write('error', error.message));
  }

  /** Another program takes the pid file over. */
  async leave(): Promise<void> {
    const path = this.#path;
    this.#path = undefined;
    if (path !== undefined) await this.#write(`${path}${OLD}`).catch((error: Error) => this.log.write('error', error.message));
  }

  writeReloadState(state: Omit<ReloadState, 'pid'>): void {
    if (this.parent !== undefined) this.parent.writeReloadState(state);
    else if (this.#path !== undefined) writeReloadFile(this.#path, state);
  }

  remove(): void {
    if (this.#path !== undefined) this.#remove(this.#path);
  }

  async #write(path: string): Promise<void> {
    if (this.parent === undefined) writePidFile(path);
    else await this.parent.writePidFile(path);
    this.#path = path;
  }

  #remove(path: string): void {
    if (this.parent !== undefined) return this.parent.removePidFile(path);
    if (!removePidFile(path))
      this.log.write('error', `cannot remove pid file "${path}" (no permission on its directory), truncated instead`);
    removeReloadFile(path);
  }
}
