/**
 * The effective configuration: the file, what the store has of state files, and on top what the API changed. Made at start and at every
 * reload; changes to directives that the file no longer has are dropped and named.
 */
import { ConfigErrors } from '../config/errors.js';
import { exactDirective } from '../contract/print.js';
import type { SpecRegistry } from '../config/registry.js';
import type { ConfigTree, Tree, TreeOperation } from '../config/tree.js';
import { toDirectives } from '../config/tree-draft.js';
import type { Directive } from '../contract/tree.js';
import { shownText } from '../contract/secrets.js';
import { directiveText } from '../contract/words.js';
import { keyIdentity, numberedStep, readable, stepsIn } from './address.js';
import { Draft } from './draft.js';
import { driftLines } from './drift.js';
import { KeyRing } from './lasting-keys.js';
import { parseDirective, textOfCall } from './parse-directive.js';
import { StateBlocks } from './state-blocks.js';
import type { FileMarks, StateFileOptions } from './state-files.js';
import type { Store } from './store.js';
import type { OverlayRow } from './store-tables.js';

export interface Effective {
  readonly tree: ConfigTree;
  /** Operations that make it of the file, besides lasting keys. */
  readonly operations: readonly TreeOperation[];
  /** Lines for the log: what the journal said about something that is not in the file any more. */
  readonly dropped: readonly string[];
  /** More lines for the log: what an operator may not have meant. */
  readonly warnings: readonly string[];
  /** The difference between the files and the tree, see {@link driftLines}. */
  readonly drift: readonly string[];
  /** The state files as they were when they were read. */
  readonly stateFiles: FileMarks;
  /** True if {@link save} writes anything: a start and a reload that only read work on a full disk. */
  readonly hasChanges: boolean;
  /**
   * Writes into the store what was found out. Call it inside a store transaction, when the tree takes effect.
   * @param version of the configuration from then on
   */
  save(version: number): void;
}

/**
 * @param store undefined: there is none yet (`srv -T` before the first start)
 * @throws ConfigErrors when a file that belongs to the configuration cannot be used
 */
export function effectiveTree(file: ConfigTree, store: Store | undefined, options: StateFileOptions): Effective {
  const run = new Composition(file, store, options);
  run.prepareBlocks(run.root);
  if (run.states.errors.length > 0) throw new ConfigErrors(run.states.errors);
  run.applyAll();
  const keyed = run.root.keyedData();
  const base = keyed === undefined ? file : file.apply([{ op: 'root', block: keyed }]);
  const operations = run.root.operations();
  const tree = operations.length === 0 ? base : base.apply(operations);
  const { hasChanges, states } = run;
  const dropped = [...run.dropped, ...states.dropped];
  const warnings = [...states.warnings, ...run.outOfReach()];
  const drift = driftLines([...run.inForce(), ...states.pending()], dropped);
  return { tree, operations, dropped, warnings, drift, stateFiles: states.marks, hasChanges, save: (version) => run.save(version) };
}

class Composition {
  readonly root: Draft;
  readonly dropped: string[] = [];
  readonly states: StateBlocks;
  /** Of the journal. */
  readonly #rows: readonly OverlayRow[];
  /** Changes of lines that a state file held until now. */
  #released: readonly OverlayRow[] = [];
  readonly #keys: KeyRing;
  /** Rows to write again, and addresses to forget. */
  readonly #changed: OverlayRow[] = [];
  readonly #forgotten: string[] = [];
  readonly #parsed = new Map<OverlayRow, Directive>();

  constructor(
    file: Tree,
    private readonly store: Store | undefined,
    private readonly options: StateFileOptions,
  ) {
    this.root = Draft.root(file.root, options.registry);
    this.states = new StateBlocks(store, options);
    this.#rows = store?.overlay.all() ?? [];
    const written = this.#rows.filter((row) => row.op !== 'remove' && row.key !== undefined);
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
    if (!this.states.fill(draft)) this.#keys.assign(draft, this.states.keysOf(draft));
    for (const child of draft.children) this.prepareBlocks(child);
  }

  applyAll(): void {
    this.#released = this.states.released();
    for (const row of [...this.#rows, ...this.#released]) {
      this.#apply(row);
      if (this.states.takes(row)) this.#forgotten.push(row.address);
    }
  }

  #apply(row: OverlayRow): void {
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
    return this.#left([...this.#rows, ...this.#released]);
  }

  /** Lines for the log about upstreams that the API has changed and cannot change any more. */
  outOfReach(): string[] {
    const blocks = Map.groupBy(this.inForce(), (row) => row.parent);
    return [...blocks.keys()].flatMap((address) => {
      const block = this.#find(stepsIn(address));
      if (block?.inside !== 'upstream' || block.children?.some(({ directive }) => directive.name === 'zone') === true) return [];
      return [
        `${readable(address)} has no zone any more, and API changes in it stay active: add a zone to revert them by API, or write what is in ` +
          'force into the file ("srv -T" prints it)',
      ];
    });
  }

  get hasChanges(): boolean {
    return this.#forgotten.length + this.#changed.length > 0 || this.#keys.hasChanges || this.states.hasChanges;
  }

  save(version: number): void {
    const { store } = this;
    if (store === undefined) return;
    for (const address of this.#forgotten) store.overlay.delete(address);
    for (const row of this.#left(this.#changed)) store.overlay.put(row);
    let seq = store.overlay.lastSeq();
    for (const row of this.#left(this.#released)) store.overlay.put({ ...row, seq: ++seq });
    this.#keys.save(store);
    this.states.save(store, version);
  }

  /** The rows that are not forgotten, as they are now. */
  #left(rows: readonly OverlayRow[]): OverlayRow[] {
    const changed = new Map(this.#changed.map((row) => [row.address, row]));
    const forgotten = new Set(this.#forgotten);
    return rows.filter((row) => !forgotten.has(row.address)).map((row) => changed.get(row.address) ?? row);
  }

  #add(row: OverlayRow, parent: Draft, step: string): void {
    const draft = parent.insert(this.#directive(row), row.address, step, this.#positionOf(row, parent));
    this.prepareBlocks(draft);
  }

  /** In front of its sibling; if the file has lost that, after its former predecessor. Undefined: the end. */
  #positionOf({ sibling, previous }: OverlayRow, { children = [] }: Draft): number | undefined {
    if (sibling === undefined) return undefined;
    const at = this.#positionIn(children, sibling);
    if (at >= 0) return at;
    if (previous === undefined) return 0;
    const behind = this.#positionIn(children, previous);
    return behind >= 0 ? behind + 1 : undefined;
  }

  #positionIn(children: readonly Draft[], address: string): number {
    const draft = this.#find(stepsIn(address));
    return draft === undefined ? -1 : children.indexOf(draft);
  }

  /** Also an `add` of what the file has by now: the API's word counts, and is not needed any more if it is the same. */
  #replace(row: OverlayRow, target: Draft): void {
    const was = exactDirective(target.directive);
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
    // Without text of the file it was an addition, and what is there now is something else.
    if (target === undefined || row.was === undefined) {
      if (target !== undefined || !this.#isCountedOn(row)) this.#forgotten.push(row.address);
      // The file has it no more: what is left is its number.
      else if (row.was !== undefined) this.#changed.push({ ...row, was: undefined });
      return;
    }
    target.removed = true;
    const was = exactDirective(target.directive);
    if (row.was !== was) this.#changed.push({ ...row, was });
  }

  /** True if there are equal directives after it, whose numbers count it. */
  #isCountedOn({ address, parent }: OverlayRow): boolean {
    const place = numberedStep(address);
    return [...this.#rows, ...this.#released].some((row) => {
      if (row.op === 'remove' || row.parent !== parent) return false;
      const other = numberedStep(row.address);
      return other.text === place.text && other.number > place.number;
    });
  }

  #drop(row: OverlayRow): void {
    this.#forgotten.push(row.address);
    this.dropped.push(`${readable(row.address)}: ${row.op} "${shownText(row.text).trim()}"`);
  }

  #find(steps: readonly string[]): Draft | undefined {
    let draft: Draft | undefined = this.root;
    for (const step of steps) draft = draft?.child(step);
    return draft;
  }

  #directive(row: OverlayRow): Directive {
    const known = this.#parsed.get(row);
    if (known !== undefined) return known;
    const [parsed] = toDirectives([
      { ...parseDirective(row.text, this.options.ids, textOfCall(0, row.seq)), ...(row.key !== undefined && { key: row.key }) },
    ]);
    if (parsed === undefined) throw new Error('a directive was parsed to nothing');
    this.#parsed.set(row, parsed);
    return parsed;
  }
}

/** True if a line with a lasting key says the same, though it may name what it is about in another form (`10.0.0.1`, `10.0.0.1:80`). */
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
