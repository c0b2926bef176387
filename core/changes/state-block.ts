import { exactDirective } from '../contract/print.js';
import { addressIn } from './address.js';
import type { Draft } from './draft.js';
import { textIn, type StateFileInput } from './state-file-join.js';
import type { StateFile } from './state-files.js';
import type { Store } from './store.js';
import type { KeyRow, OverlayRow } from './store-tables.js';
import type { StateFileRow, StateLine } from './state-tables.js';

/** An active line, and what the file says of it. */
interface LineState {
  readonly text: string | undefined;
  readonly written: string | undefined;
  /** Undefined: it is not active. */
  readonly place: number | undefined;
}

export interface StateBlockOptions {
  readonly draft: Draft;
  readonly file: StateFile;
  readonly input: StateFileInput;
  /** The file has every change of the API up to this one. */
  readonly version: number;
  /** Content of an edited file, by key; undefined: the file is as srv wrote it. */
  readonly edited: ReadonlyMap<number, string> | undefined;
  /** The first key that was never used. */
  readonly nextKey: number;
  /** How lines of the file are found again when it is restored; empty: it exists. */
  readonly missing: readonly KeyRow[];
}

/** One block whose lines a state file holds, while the effective tree is put together. */
export class StateBlock {
  #hasJournalRows = false;

  constructor(private readonly options: StateBlockOptions) {}

  /** True if a row of the journal, of a time when the block had no state file, is about a line of it. From now on the line is kept here. */
  takes(row: OverlayRow): boolean {
    const isLine = row.address.startsWith(addressIn(row.parent, `${this.options.file.holds}@`).slice(0, -1));
    this.#hasJournalRows ||= isLine;
    return isLine;
  }

  /** True if {@link save} writes anything. */
  get hasChanges(): boolean {
    if (this.options.edited === undefined && !this.#hasJournalRows) return false;
    return this.#hasJournalRows || this.#changedRow() !== undefined || this.#changedLines(0).length + this.#goneLines().length > 0;
  }

  /** Changes that the file does not have yet, as rows of the journal. */
  pending(): OverlayRow[] {
    const { draft, file } = this.options;
    const rows = Array.from(this.#lines(), ([key, state]) => pendingRow(draft.address, file.holds, key, state));
    return rows.filter((row) => row !== undefined);
  }

  /** @param version of the configuration that takes effect */
  save(store: Store, version: number): void {
    const { draft, input, nextKey, edited, missing } = this.options;
    for (const line of this.#changedLines(version)) store.stateLines.put(line);
    for (const line of this.#goneLines()) forget(store, line);
    const row = this.#changedRow();
    if (row !== undefined) store.stateFiles.put(row);
    store.keys.setNext(draft.address, nextKey);
    if (edited !== undefined && input.content.exists) store.keys.clear(draft.address);
    for (const key of missing) store.keys.put(draft.address, key);
  }

  /** The file as it was read, if the store knows another one. */
  #changedRow(): StateFileRow | undefined {
    const { draft, input, version } = this.options;
    const { row, content } = input;
    if ((row?.written.digest ?? '') === content.digest) return undefined;
    return { block: draft.address, written: { version, digest: content.digest }, next: undefined };
  }

  /** Lines that the store has otherwise. */
  #changedLines(version: number): StateLine[] {
    const old = new Map(this.options.input.lines.map((line) => [line.key, line]));
    const lines = Array.from(this.#lines(), ([key, state]) => this.#lineOf(key, state, old.get(key), version));
    return lines.filter((line) => !isSame(line, old.get(line.key)));
  }

  /** Lines of the store that are neither active nor in the file. */
  #goneLines(): StateLine[] {
    const lines = this.#lines();
    return this.options.input.lines.filter(({ key, text, written }) => !lines.has(key) && (text !== undefined || written !== undefined));
  }

  #lineOf(key: number, { text, written, place }: LineState, old: StateLine | undefined, version: number): StateLine {
    const since = old?.changed ?? 0;
    return {
      block: this.options.draft.address,
      key,
      text,
      written,
      ...(old?.written === written && old !== undefined
        ? { since: old.since, old: old.old }
        : { since: this.options.version, old: undefined }),
      next: undefined,
      place: place ?? old?.place ?? 0,
      born: old?.born ?? (written === undefined ? version : 0),
      changed: text !== written && since <= this.options.version ? version : since,
    };
  }

  /** By key: every line that is active or in the file. */
  #lines(): Map<number, LineState> {
    const { draft, file } = this.options;
    const lines = new Map<number, LineState>();
    const written = this.#written();
    let place = 0;
    for (const { directive, key, removed } of draft.children ?? []) {
      if (removed || directive.name !== file.holds || key === undefined) continue;
      lines.set(key, { text: exactDirective(directive), written: written.get(key), place: place++ });
    }
    for (const [key, text] of written) if (!lines.has(key)) lines.set(key, { text: undefined, written: text, place: undefined });
    return lines;
  }

  #written(): ReadonlyMap<number, string> {
    const { edited, input, version } = this.options;
    if (edited !== undefined) return edited;
    const written = new Map<number, string>();
    for (const line of input.lines) {
      const text = textIn(line, version);
      if (text !== undefined) written.set(line.key, text);
    }
    return written;
  }
}

/** A removed line is remembered for files of older versions; one that is gone from the file is none any more. */
function forget(store: Store, line: StateLine): void {
  if (line.text !== undefined) store.stateLines.delete(line.block, line.key);
  else store.stateLines.put({ ...line, written: undefined, next: undefined });
}

/** `next` says nothing about the line that is active. */
function isSame(line: StateLine, old: StateLine | undefined): boolean {
  if (old === undefined) return false;
  const { text, written, place, born, changed } = line;
  return text === old.text && written === old.written && place === old.place && born === old.born && changed === old.changed;
}

/** The difference between an active line and what the file says of it, as a row of the journal; undefined if there is none. */
export function pendingRow(
  block: string,
  name: string,
  key: number,
  { text, written }: Pick<StateLine, 'text' | 'written'>,
): OverlayRow | undefined {
  if (text === written) return undefined;
  const row = { address: addressIn(block, `${name}@${key}`), parent: block, key, seq: 0 };
  if (text === undefined) return { ...row, op: 'remove', text: written ?? '', was: written };
  return { ...row, op: written === undefined ? 'add' : 'replace', text, was: written };
}
