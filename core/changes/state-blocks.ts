/** Blocks whose lines a state file holds, while the effective tree is put together. */
import { ConfigErrors, configErrorsOf, errorAt, type ConfigError } from '../config/errors.js';
import { parseText } from '../config/parser.js';
import { exactDirective } from '../contract/print.js';
import { validate } from '../config/validate.js';
import { toDirectives } from '../config/tree-draft.js';
import type { ContextName } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';
import { readable } from './address.js';
import type { Draft } from './draft.js';
import { keyRows } from './lasting-keys.js';
import { parseDirective } from './parse-directive.js';
import { pendingRow, StateBlock } from './state-block.js';
import { readStateFile, type StateFileContent } from './state-file-content.js';
import { joinLines, versionOf, type JoinedLine, type StateFileInput } from './state-file-join.js';
import { StateFilePlaces } from './state-file-places.js';
import { stateFileOf, type FileMarks, type StateFile, type StateFileOptions } from './state-files.js';
import type { Store } from './store.js';
import type { KeyRow, OverlayRow } from './store-tables.js';
import type { StateLine } from './state-tables.js';

/** A block that has a state file. */
interface Place {
  readonly draft: Draft;
  readonly file: StateFile;
  readonly context: ContextName;
}

export class StateBlocks {
  readonly errors: ConfigError[] = [];
  /** Lines for the log. */
  readonly warnings: string[] = [];
  /** Changes of the API to lines that are not in their file any more, for the log. */
  readonly dropped: string[] = [];
  /** The files as they were when they were read. */
  readonly marks: FileMarks = new Map();
  readonly #places: StateFilePlaces;
  readonly #blocks = new Map<string, StateBlock>();
  /** By the address of their block. */
  readonly #lines: ReadonlyMap<string, StateLine[]>;

  constructor(
    private readonly store: Store | undefined,
    private readonly options: StateFileOptions,
  ) {
    this.#places = new StateFilePlaces(options.dataFolder);
    this.#lines = Map.groupBy(store?.stateLines.all() ?? [], ({ block }) => block);
  }

  /** Puts the lines of its state file into the block. False if it has none. */
  fill(draft: Draft): boolean {
    const { inside: context, directive } = draft;
    if (directive.block === undefined || context === undefined) return false;
    const file = stateFileOf(directive.block, context, this.options);
    if (file === undefined) return false;
    try {
      this.#places.assertUsable(file);
      assertNoneBeside(directive, file);
      this.#read({ draft, file, context });
    } catch (error) {
      const errors = configErrorsOf(error);
      if (errors === undefined) throw error;
      this.errors.push(...errors);
    }
    return true;
  }

  /** Keys of the lines that a block had in a state file before it lost that. */
  keysOf({ address, inside }: Draft): KeyRow[] {
    return inside === undefined ? [] : this.#writtenKeys(this.#lines.get(address) ?? [], inside);
  }

  /** Changes in blocks that have no state file any more, for the journal. */
  released(): OverlayRow[] {
    return this.#releasedLines().flatMap((line) => {
      const { name } = this.#parseLine(line.text ?? line.written ?? '');
      return pendingRow(line.block, name, line.key, line) ?? [];
    });
  }

  /** True if a row of the journal is about a line that a state file holds: then it is kept there from now on. */
  takes(row: OverlayRow): boolean {
    return this.#blocks.get(row.parent)?.takes(row) === true;
  }

  /** Changes that files do not have yet, as rows of the journal. */
  pending(): OverlayRow[] {
    return Array.from(this.#blocks.values(), (block) => block.pending()).flat();
  }

  /** True if {@link save} writes anything. */
  get hasChanges(): boolean {
    return this.#releasedLines().length > 0 || [...this.#blocks.values()].some((block) => block.hasChanges);
  }

  /** @param version of the configuration that takes effect */
  save(store: Store, version: number): void {
    for (const block of this.#blocks.values()) if (block.hasChanges) block.save(store, version);
    // The file has them as they were written, for the case that the block gets it back.
    for (const line of this.#releasedLines()) {
      if (line.written === undefined) store.stateLines.delete(line.block, line.key);
      else store.stateLines.put({ ...line, text: line.written, next: undefined });
    }
  }

  #read(place: Place): void {
    const { address } = place.draft;
    const content = contentOf(place.file, this.marks);
    const input = { content, lines: this.#lines.get(address) ?? [], row: this.store?.stateFiles.get(address) };
    const { version, edited } = versionOf(input);
    if (edited) this.#join(place, input, version);
    else this.#restore(place, input, version);
  }

  /** The file is as srv wrote it: what the store has is what counts. */
  #restore(place: Place, input: StateFileInput, version: number): void {
    const alive = input.lines.filter(({ text }) => text !== undefined);
    // An empty line for the first one of the file, so that errors have the right place.
    const directives = this.#parse(place, `\n${alive.map(({ text }) => text).join('')}`);
    for (const [at, directive] of directives.entries()) place.draft.include(directive, alive[at]?.key);
    this.#blocks.set(place.draft.address, new StateBlock({ ...place, input, version, edited: undefined, nextKey: 0, missing: [] }));
  }

  #join(place: Place, input: StateFileInput, version: number): void {
    const { draft, file, context } = place;
    const { store } = this;
    const remembered = store?.keys.of(draft.address) ?? [];
    let nextKey = store?.keys.next(draft.address) ?? 0;
    const parse = (text: string): Directive => this.#parseLine(text);
    const found = this.#parse(place, input.content.text);
    const options = { registry: this.options.registry, context, remembered, parse, nextKey: () => nextKey++ };
    const { inFile, inForce, dropped } = joinLines(found, input, version, options);
    for (const { key, directive } of inForce) draft.include(directive, key);
    for (const { key, text = '' } of dropped)
      this.dropped.push(`${readable(draft.address)} / ${file.holds}@${key}: replace "${text.trim()}"`);
    const missing = input.content.exists ? [] : [...remembered, ...this.#writtenKeys(input.lines, context)];
    if (missing.length > 0) this.warnings.push(missingText(file, draft));
    this.#blocks.set(draft.address, new StateBlock({ ...place, input, version, edited: textsOf(inFile), nextKey, missing }));
  }

  #releasedLines(): StateLine[] {
    const gone = [...this.#lines].filter(([address]) => !this.#blocks.has(address));
    return gone.flatMap(([, lines]) => lines.filter(({ text, written }) => text !== written));
  }

  #writtenKeys(lines: readonly StateLine[], context: ContextName): KeyRow[] {
    const written = lines.flatMap(({ key, written: text }) => (text === undefined ? [] : [{ key, directive: this.#parseLine(text) }]));
    return keyRows(written, context, this.options.registry);
  }

  /** @throws ConfigErrors */
  #parse({ file, context }: Place, text: string): Directive[] {
    const { registry, args, ids } = this.options;
    const { directives, errors } = parseText(text, { ids, file: file.path });
    const held = directives.filter(({ name }) => name === file.holds);
    const strange = directives.filter(({ name }) => name !== file.holds);
    const all = [
      ...errors,
      ...strange.map((directive) => errorAt(directive, `"${directive.name}" directive is not allowed in this file`)),
      ...validate(held, { registry, args, context }),
    ];
    if (all.length > 0) throw new ConfigErrors(all);
    return toDirectives(directives);
  }

  #parseLine(text: string): Directive {
    const [directive] = toDirectives([parseDirective(text, this.options.ids)]);
    if (directive === undefined) throw new Error('a directive was parsed to nothing');
    return directive;
  }
}

/** @throws ConfigError */
function assertNoneBeside({ block }: Directive, { directive, holds }: StateFile): void {
  const [beside] = block?.named(holds) ?? [];
  if (beside === undefined) return;
  const hint = `keep the lines in the file that "${directive.name}" names`;
  throw errorAt(beside, `"${holds}" is not allowed together with "${directive.name}"`, undefined, hint);
}

/** @throws ConfigError */
function contentOf({ path, directive }: StateFile, marks: FileMarks): StateFileContent {
  try {
    return readStateFile(path, marks);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw errorAt(directive, `cannot read "${path}": ${reason}`, directive.args[0]);
  }
}

const textsOf = (lines: readonly JoinedLine[]): Map<number, string> =>
  new Map(lines.map(({ key, directive }) => [key, exactDirective(directive)]));

const missingText = ({ directive, path, holds }: StateFile, { address }: Draft): string =>
  `"${directive.name}" file "${path}" is missing: ${readable(address)} has none of the "${holds}" lines that it held; put it back and reload`;
