/**
 * The effective configuration: the file, the files it keeps parts of itself in (`state`), and on top what the API changed. Made at start and
 * at every reload; what the journal says about directives that the file no longer has is dropped and named.
 */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { ConfigErrors, errorAt, type ConfigError } from '../config/errors.js';
import { printDirective } from '../config/print.js';
import type { SpecRegistry } from '../config/registry.js';
import { ConfigTree, type IdSource, type Tree } from '../config/tree.js';
import type { ArgContext } from '../module/spec.js';
import { directiveText, type Directive } from '../module/tree.js';
import { keyIdentity, readable, stepsIn } from './address.js';
import { Draft } from './draft.js';
import { driftLines } from './drift.js';
import { heldFileOf, readHeldFile, type FileMarks, type HeldFile } from './held-files.js';
import { KeyRing } from './lasting-keys.js';
import { parseDirective, toDirectives } from './parse-directive.js';
import type { Store } from './store.js';
import type { OverlayRow } from './store-tables.js';

export interface EffectiveOptions {
  readonly registry: SpecRegistry;
  readonly args: ArgContext;
  readonly ids: IdSource;
  /** Made by a start, if it is not there yet. */
  readonly dataFolder?: string;
}

export interface Effective {
  readonly tree: ConfigTree;
  /** Lines for the log: what the journal said about something that is not in the file any more. */
  readonly dropped: readonly string[];
  /** More lines for the log: what an operator may not have meant. */
  readonly warnings: readonly string[];
  /** The difference between the files and the tree, see {@link driftLines}. */
  readonly drift: readonly string[];
  /** The files it was read from beside the configuration, as they were. */
  readonly heldFiles: FileMarks;
  /** Writes into the store what was found out. Call it inside a store transaction, when the tree comes into force. */
  save(): void;
}

/**
 * @param store undefined: there is none yet (`srv -T` before the first start)
 * @throws ConfigErrors when a file that belongs to the configuration cannot be used
 */
export function effectiveTree(file: Tree, store: Store | undefined, options: EffectiveOptions): Effective {
  const run = new Composition(file, store, options);
  run.prepareBlocks(run.root);
  if (run.errors.length > 0) throw new ConfigErrors(run.errors);
  for (const row of run.rows) run.apply(row);
  const tree = ConfigTree.fromData(run.root.blockData());
  const { dropped, heldFiles } = run;
  const warnings = [...run.missingFiles, ...run.outOfReach()];
  return { tree, dropped, warnings, drift: driftLines(run.inForce(), dropped), heldFiles, save: () => run.save() };
}

class Composition {
  readonly root: Draft;
  readonly rows: readonly OverlayRow[];
  readonly dropped: string[] = [];
  readonly errors: ConfigError[] = [];
  readonly heldFiles: FileMarks = new Map();
  /** Lines for the log. */
  readonly missingFiles: string[] = [];
  readonly #keys: KeyRing;
  /** Rows to write again, and addresses to forget. */
  readonly #changed: OverlayRow[] = [];
  readonly #forgotten: string[] = [];
  readonly #parsed = new Map<OverlayRow, Directive>();
  /** By the path of a file: the directive that holds it. */
  readonly #held = new Map<string, Directive>();

  constructor(
    file: Tree,
    private readonly store: Store | undefined,
    private readonly options: EffectiveOptions,
  ) {
    this.root = Draft.root(file.root, options.registry);
    this.rows = store?.overlay.all() ?? [];
    const written = this.rows.filter((row) => row.op !== 'remove' && row.key !== undefined);
    this.#keys = new KeyRing(
      options.registry,
      store,
      Map.groupBy(written, (row) => row.parent),
      (row) => this.#directive(row),
    );
  }

  /** Fills in what files hold, and gives lasting keys, in this block and all within it. */
  prepareBlocks(draft: Draft): void {
    if (draft.children === undefined || draft.inside === undefined || draft.inside === 'entries') return;
    this.#fill(draft);
    this.#keys.assign(draft);
    for (const child of draft.children) this.prepareBlocks(child);
  }

  apply(row: OverlayRow): void {
    const steps = stepsIn(row.address);
    const parent = this.#find(steps.slice(0, -1));
    const step = steps.at(-1) ?? '';
    const target = parent?.child(step);
    // That the block of a removed directive is gone says nothing of the directive: it is back with the block, and that is to be known.
    if (row.op === 'remove' && parent !== undefined) this.#remove(row, target);
    else if (target !== undefined) this.#replace(row, target);
    else if (row.op === 'add' && parent?.children !== undefined) this.#add(row, parent, step);
    else this.#drop(row);
  }

  /** The rows that are left. */
  inForce(): readonly OverlayRow[] {
    const changed = new Map(this.#changed.map((row) => [row.address, row]));
    const forgotten = new Set(this.#forgotten);
    return this.rows.filter((row) => !forgotten.has(row.address)).map((row) => changed.get(row.address) ?? row);
  }

  /** Lines for the log about groups that the API has changed, and cannot change any more. */
  outOfReach(): string[] {
    const blocks = Map.groupBy(this.inForce(), (row) => row.parent);
    return [...blocks.keys()].flatMap((address) => {
      const block = this.#find(stepsIn(address));
      if (block?.inside !== 'upstream' || block.children?.some(({ directive }) => directive.name === 'zone') === true) return [];
      return [
        `${readable(address)} has no zone any more, and what was changed in it by API stays in force: to take it back, give it a zone again ` +
          'until that is done by API, or write into the file what is in force ("srv -T" prints it)',
      ];
    });
  }

  save(): void {
    const { store } = this;
    if (store === undefined) return;
    for (const address of this.#forgotten) store.overlay.delete(address);
    for (const row of this.#changed) store.overlay.put(row);
    this.#keys.save(store);
  }

  #fill(draft: Draft): void {
    const { inside, directive } = draft;
    const { block } = directive;
    if (block === undefined || inside === undefined) return;
    const file = heldFileOf(block, inside, this.options);
    if (file === undefined) return;
    const fault = this.#misplaced(file);
    if (fault !== undefined) this.errors.push(fault);
    this.#noteMissing(file, draft);
    const held = readHeldFile(file, block, inside, this.options, this.heldFiles);
    for (const entry of held) {
      if (entry instanceof Error) this.errors.push(entry);
      else draft.include(entry);
    }
  }

  /** No file is an empty one. Where there were members before, that is no beginning. */
  #noteMissing({ path, directive, holds }: HeldFile, { address }: Draft): void {
    if (existsSync(path)) return;
    const journalled = new Set(this.rows.filter(({ parent }) => parent === address).map(({ key }) => key));
    const known = this.store?.keys.of(address) ?? [];
    if (known.every(({ key }) => journalled.has(key))) return;
    this.missingFiles.push(
      `"${directive.name}" file "${path}" is missing: ${readable(address)} has none of the "${holds}" lines that it held; put it back and reload`,
    );
  }

  /** A file that cannot be written, or that another block writes, would lose what it is to keep. */
  #misplaced({ directive, path }: HeldFile): ConfigError | undefined {
    const [word] = directive.args;
    const other = this.#held.get(path);
    this.#held.set(path, directive);
    if (other !== undefined && other.id !== directive.id) {
      const { file, line } = other.source;
      return errorAt(directive, `"${directive.name}" file "${path}" is used twice`, word, `the other one is in ${file}:${line}`);
    }
    const folder = dirname(path);
    const isMadeAtStart = `${this.options.dataFolder ?? ''}/`.startsWith(`${folder}/`);
    if (isMadeAtStart || existsSync(folder)) return undefined;
    return errorAt(directive, `"${directive.name}" file "${path}" cannot be written: there is no such folder`, word, `make it: ${folder}`);
  }

  #add(row: OverlayRow, parent: Draft, step: string): void {
    const draft = parent.append(this.#directive(row), row.address, step);
    this.prepareBlocks(draft);
  }

  /** Also an `add` of what the file has by now: the API's word counts, and is not needed any more if it is the same. */
  #replace(row: OverlayRow, target: Draft): void {
    const was = printDirective(target.directive);
    const directive = this.#directive(row);
    if (was === row.text || isSameLine(target, directive, this.options.registry)) {
      this.#forgotten.push(row.address);
      return;
    }
    target.replaceWith(directive);
    this.prepareBlocks(target);
    if (row.op !== 'replace' || row.was !== was) this.#changed.push({ ...row, op: 'replace', was });
  }

  #remove(row: OverlayRow, target: Draft | undefined): void {
    if (target === undefined) {
      this.#forgotten.push(row.address);
      return;
    }
    target.removed = true;
    const was = printDirective(target.directive);
    if (row.was !== was) this.#changed.push({ ...row, was });
  }

  #drop(row: OverlayRow): void {
    this.#forgotten.push(row.address);
    this.dropped.push(`${readable(row.address)}: ${row.op} "${row.text.trim()}"`);
  }

  #find(steps: readonly string[]): Draft | undefined {
    let draft: Draft | undefined = this.root;
    for (const step of steps) draft = draft?.child(step);
    return draft;
  }

  #directive(row: OverlayRow): Directive {
    const known = this.#parsed.get(row);
    if (known !== undefined) return known;
    const [parsed] = toDirectives([{ ...parseDirective(row.text, this.options.ids), ...(row.key !== undefined && { key: row.key }) }]);
    if (parsed === undefined) throw new Error('a directive was parsed to nothing');
    this.#parsed.set(row, parsed);
    return parsed;
  }
}

/** Whether a line with a lasting key says the same, though it may name what it is about in another form (`10.0.0.1`, `10.0.0.1:80`). */
function isSameLine({ key, parent, directive }: Draft, other: Directive, registry: SpecRegistry): boolean {
  const context = parent?.inside;
  if (key === undefined || context === undefined || directive.block !== undefined || other.block !== undefined) return false;
  return (
    keyIdentity(directive, context, registry) === keyIdentity(other, context, registry) && parametersOf(directive) === parametersOf(other)
  );
}

function parametersOf({ args }: Directive): string {
  return directiveText(
    '',
    args.slice(1).map((word) => word.text),
  );
}
