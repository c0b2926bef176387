/**
 * Writes state files. The store is the truth and a file is a copy of it, so this can wait, join what comes in a row, and fail: whatever the
 * content of the file after a kill, its first line has the version of its lines.
 *
 * An edited file is not written: the next reload or start reads it, and adds the later changes of the API.
 */
import type { SpecRegistry } from '../config/registry.js';
import type { ConfigTree } from '../config/tree.js';
import type { Log } from '../contract/log.js';
import type { ArgContext, ContextName } from '../contract/spec.js';
import type { Block } from '../contract/tree.js';
import { Addresses } from './address.js';
import type { Journal } from './journal.js';
import { fileMark, removeUnfinished, replaceFile } from './replace-file.js';
import { printStateFile, readStateFile } from './state-file-content.js';
import { announce, conclude, concludeInterrupted } from './state-file-record.js';
import { stateFileOf, type FileMarks, type StateFile } from './state-files.js';
import type { Store } from './store.js';

const DELAY_MS = 100;
/** After a write that took long, the next one waits this many times as long. */
const REST = 5;
/** A failed write is tried again after this time, which doubles with every failure up to the longest. */
const RETRY_MS = 1000;
const LONGEST_RETRY_MS = 60_000;

export interface StateFileWriterOptions {
  readonly store: Store;
  readonly journal: Journal;
  readonly log: Log;
  /** The current configuration. */
  readonly current: () => {
    readonly tree: ConfigTree;
    readonly registry: SpecRegistry;
    readonly args: ArgContext;
    readonly version: number;
  };
}

export class StateFileWriter {
  /** Ids of the directives whose block has lines that its file does not have yet. */
  readonly #dirty = new Set<number>();
  #timer: NodeJS.Timeout | undefined;
  #delay = DELAY_MS;
  /** Dirty files that could not be written; it has been logged. */
  readonly #failing = new Set<number>();
  #retryTimer: NodeJS.Timeout | undefined;
  #retryDelay = RETRY_MS;
  #running: Promise<void> = Promise.resolve();
  /** The files as this process read or wrote them last. */
  #marks: FileMarks = new Map();
  /** Paths of files that were edited since; it has been logged. */
  readonly #edited = new Set<string>();

  constructor(private readonly options: StateFileWriterOptions) {}

  /** Something in the block of this directive has changed. */
  touch(id: number): void {
    const { tree, registry, args } = this.options.current();
    const block = tree.byId(id)?.block;
    const context = registry.contextWithin(tree, id);
    if (block === undefined || context === undefined || stateFileOf(block, context, { registry, args }) === undefined) return;
    this.#dirty.add(id);
    this.#timer ??= setTimeout(() => void this.flush(), this.#delay);
  }

  /**
   * After a start or a reload: a file may lack changes, because the process was killed, the write failed, or the file was edited.
   * @param read the files as they were read; absent: they were not
   */
  catchUp(read?: FileMarks): void {
    if (read !== undefined) {
      this.#marks = read;
      this.#edited.clear();
    }
    const { tree, registry } = this.options.current();
    const visit = (block: Block, context: ContextName): void => {
      for (const directive of block) {
        const inside = directive.block && registry.contextInside(context, directive.name);
        if (directive.block === undefined || inside === undefined || inside === 'entries') continue;
        this.touch(directive.id);
        visit(directive.block, inside);
      }
    };
    visit(tree.root, 'main');
  }

  /** Resolves when the files have everything that was touched. Never rejects: what fails is logged, and tried again. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#running = this.#running.then(() => this.#writeAll());
    return this.#running;
  }

  /** Writes what it can; what fails now is left to the next {@link touch} or start. Then the files stay as they are. */
  async settle(): Promise<void> {
    await this.flush();
    clearTimeout(this.#retryTimer);
  }

  async #writeAll(): Promise<void> {
    const started = performance.now();
    const failed: number[] = [];
    for (const id of this.#dirty) {
      this.#dirty.delete(id);
      try {
        await this.#write(id);
      } catch (error) {
        this.#report(id, error);
        failed.push(id);
      }
    }
    this.#delay = Math.max(DELAY_MS, REST * (performance.now() - started));
    this.#retry(failed);
  }

  #report(id: number, error: unknown): void {
    if (this.#failing.has(id)) return;
    this.#failing.add(id);
    const reason = error instanceof Error ? error.message : String(error);
    this.options.log.write('error', `cannot write state file, trying again; API changes are safe in the data folder: ${reason}`);
  }

  #retry(failed: readonly number[]): void {
    clearTimeout(this.#retryTimer);
    if (failed.length === 0) {
      this.#retryDelay = RETRY_MS;
      return;
    }
    for (const id of failed) this.#dirty.add(id);
    this.#retryTimer = setTimeout(() => void this.flush(), this.#retryDelay).unref();
    this.#retryDelay = Math.min(2 * this.#retryDelay, LONGEST_RETRY_MS);
  }

  async #write(id: number): Promise<void> {
    const { store, journal, log, current } = this.options;
    const { tree, registry, args, version } = current();
    const directive = tree.byId(id);
    const context = registry.contextWithin(tree, id);
    if (directive?.block === undefined || context === undefined) return;
    const file = stateFileOf(directive.block, context, { registry, args });
    if (file === undefined) return;
    const address = new Addresses(tree, registry, journal.removed).of(id);
    if (store.stateFiles.get(address)?.next !== undefined) concludeInterrupted(store, address, readStateFile(file.path, new Map()));
    const pending = store.stateLines.pending(address);
    if (pending.length === 0 && store.stateFiles.get(address)?.next === undefined) {
      // The file is complete. A temporary file beside it is of a process that was killed while it wrote.
      await removeUnfinished(file.path);
      return;
    }
    if (this.#isEdited(file)) {
      this.#reportEdited(file);
      return;
    }
    const printed = await printStateFile(directive.block, file.holds, version);
    announce(store, address, printed, pending);
    const mark = await replaceFile(file.path, printed.text, () => !this.#isEdited(file));
    if (mark === undefined) {
      this.#reportEdited(file);
      return;
    }
    this.#marks.set(file.path, mark);
    conclude(store, address, printed);
    if (this.#failing.delete(id)) log.write('notice', `state file "${file.path}" is written again`);
  }

  /** One that is gone is made again: what it held is active. */
  #isEdited({ path }: StateFile): boolean {
    const mark = fileMark(path);
    return mark !== undefined && mark !== this.#marks.get(path);
  }

  #reportEdited({ path }: StateFile): void {
    if (this.#edited.has(path)) return;
    this.#edited.add(path);
    this.options.log.write(
      'warn',
      `state file "${path}" was edited and is not written until the next reload reads it; API changes are safe in the data folder`,
    );
  }
}
