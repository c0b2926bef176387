/**
 * Writes `state` files back. The journal keeps every change safe, so this can wait and join what comes in a row. The order makes a crash
 * harmless at every point: first the keys of what the file is going to hold, then the file (written aside, synced, renamed), then the
 * journal forgets what the file has. Whatever of the journal is left is applied again at the next start, and gives the same tree; the file
 * catches up then.
 *
 * A file that somebody edited is not written: the next reload or start reads it, with what is left of the journal on top.
 */
import type { SpecRegistry } from '../config/registry.js';
import type { ConfigTree } from '../config/tree.js';
import type { Log } from '../module/services.js';
import type { ArgContext, ContextName } from '../module/spec.js';
import type { Block } from '../module/tree.js';
import { Addresses, below, stepsIn } from './address.js';
import { changedKeys, printHeld } from './held-file-content.js';
import { heldFileOf, type FileMarks, type HeldFile } from './held-files.js';
import type { Journal } from './journal.js';
import { fileMark, removeUnfinished, replaceFile } from './replace-file.js';
import type { Store } from './store.js';
import type { OverlayRow } from './store-tables.js';

const DELAY_MS = 100;
/** After a write that took long, the next one waits this many times as long. */
const REST = 5;
/** What failed is tried again after this time, which doubles with every failure up to the longest. */
const RETRY_MS = 1000;
const LONGEST_RETRY_MS = 60_000;

export interface HeldFileWriterOptions {
  readonly store: Store;
  readonly journal: Journal;
  readonly log: Log;
  /** The configuration in force. */
  readonly current: () => { readonly tree: ConfigTree; readonly registry: SpecRegistry; readonly args: ArgContext };
}

export class HeldFileWriter {
  /** Ids of the directives whose block a file holds a part of that it does not have yet. */
  readonly #dirty = new Set<number>();
  #timer: NodeJS.Timeout | undefined;
  #delay = DELAY_MS;
  /** Those of the dirty ones that could not be written; it has been logged. */
  readonly #failing = new Set<number>();
  #retryTimer: NodeJS.Timeout | undefined;
  #retryDelay = RETRY_MS;
  #running: Promise<void> = Promise.resolve();
  /** The files as this process read or wrote them last. */
  #marks: FileMarks = new Map();
  /** Paths of those that somebody else wrote since; it has been logged. */
  readonly #edited = new Set<string>();

  constructor(private readonly options: HeldFileWriterOptions) {}

  /** Something in the block of this directive has changed. */
  touch(id: number): void {
    const { tree, registry, args } = this.options.current();
    const block = tree.byId(id)?.block;
    const context = registry.contextWithin(tree, id);
    if (block === undefined || context === undefined || heldFileOf(block, context, { registry, args }) === undefined) return;
    this.#dirty.add(id);
    this.#timer ??= setTimeout(() => void this.flush(), this.#delay);
  }

  /**
   * After a start or a reload: the journal may have changes that a file lacks, because the process was killed, the write failed, or the file
   * was edited.
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
    this.options.log.write(
      'error',
      `state file could not be written, the changes are safe in the data folder, it is tried again: ${reason}`,
    );
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
    const { tree, registry, args } = current();
    const directive = tree.byId(id);
    const context = registry.contextWithin(tree, id);
    if (directive?.block === undefined || context === undefined) return;
    const file = heldFileOf(directive.block, context, { registry, args });
    if (file === undefined) return;
    const { seq } = journal;
    const address = new Addresses(tree, registry, journal.removed).of(id);
    const rows = store.overlay.between(...below(address)).filter((row) => row.parent === address && isOf(row, file));
    if (rows.length === 0) {
      // The file has everything. What lies beside it is of a process that was killed while it wrote.
      await removeUnfinished(file.path);
      return;
    }
    if (this.#isEdited(file)) {
      this.#reportEdited(file);
      return;
    }
    const keys = await changedKeys(directive.block, context, registry, rows, file);
    store.transaction(() => {
      for (const key of keys) store.keys.put(address, key);
    });
    const mark = await replaceFile(file.path, await printHeld(directive.block, file), () => !this.#isEdited(file));
    if (mark === undefined) {
      this.#reportEdited(file);
      return;
    }
    this.#marks.set(file.path, mark);
    store.transaction(() => {
      for (const row of rows) if (row.seq <= seq && store.overlay.get(row.address)?.seq === row.seq) store.overlay.delete(row.address);
    });
    if (this.#failing.delete(id)) log.write('notice', `state file "${file.path}" is written again`);
  }

  /** One that is gone is made anew: what it held is in force. */
  #isEdited({ path }: HeldFile): boolean {
    const mark = fileMark(path);
    return mark !== undefined && mark !== this.#marks.get(path);
  }

  #reportEdited({ path }: HeldFile): void {
    if (this.#edited.has(path)) return;
    this.#edited.add(path);
    this.options.log.write(
      'warn',
      `state file "${path}" was edited: it is not written before the next reload reads it; changes made by API are safe in the data folder`,
    );
  }
}

function isOf({ address }: OverlayRow, { holds }: HeldFile): boolean {
  return /^(?:\d+:)?([^ @]+)/.exec(stepsIn(address).at(-1) ?? '')?.[1] === holds;
}
