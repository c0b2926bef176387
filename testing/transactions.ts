/** The configuration, and changes of it, for unit tests of actions. */
import { ErrorCollector } from '../core/config/error-collector.js';
import { parseText } from '../core/config/parser.js';
import { directiveData } from '../core/config/operations.js';
import { ConfigTree, IdSource, type TreeOperation } from '../core/config/tree.js';
import { toDirectives } from '../core/config/tree-draft.js';
import { contentVersion } from '../core/changes/content-version.js';
import { editedDirective } from '../core/changes/parse-directive.js';
import type { ActionContext } from '../core/contract/control.js';
import { exactDirective, exactTree } from '../core/contract/print.js';
import { Transactions, type Applied, type Edit } from '../core/contract/transactions.js';
import type { Block, Directive, NewDirective } from '../core/contract/tree.js';

/**
 * A configuration that the edits of a module change. They are parsed as in a server; what directives mean, and whether they are `dynamic`, is
 * not checked.
 *
 * ```ts
 * const transactions = new FakeTransactions('http { upstream shop { server 10.0.0.1:80; } }');
 * await new Drain(new FakeUpstreams(transactions), transactions).drain({ upstream: 'shop' }, context);
 * assert.equal(transactions.text, 'http { upstream shop { server 10.0.0.1:80 drain; } }');
 * ```
 */
export class FakeTransactions extends Transactions {
  version = 1;
  /** Changes of {@link apply}, without dry runs. */
  readonly applied: Edit[] = [];
  readonly #ids = new IdSource();
  readonly #additions = new Set<number>();
  #tree: ConfigTree;

  /** @throws ConfigErrors */
  constructor(configuration: string) {
    super();
    const { directives, errors } = parseText(configuration, { ids: this.#ids, file: 'srv.conf' });
    const collected = new ErrorCollector();
    for (const error of errors) collected.add(error);
    collected.throwIfAny();
    this.#tree = ConfigTree.fromData(directives);
  }

  get tree(): Block {
    return this.#tree.root;
  }

  /** The current configuration, on one line. */
  get text(): string {
    return exactTree(this.tree)
      .replaceAll(/\s*\n\s*/g, ' ')
      .trimEnd();
  }

  versionOf(directive: Directive): string {
    return contentVersion(this.#tree.byId(directive.id) ?? directive);
  }

  read(directive: NewDirective): Directive {
    return this.#made(directive);
  }

  isAddition({ id }: Directive): boolean {
    return this.#additions.has(id);
  }

  async apply(build: (tree: Block) => readonly Edit[], { dryRun = false }: Partial<ActionContext> = {}): Promise<Applied> {
    const edits = build(this.tree);
    const before = this.#tree;
    let after = before;
    const made = edits.map((edit) => {
      const directive = edit.op === 'remove' ? edit.target : this.#made(edit.text, edit.op === 'replace' ? edit.target.id : undefined);
      after = after.apply([operationOf(edit, directive)]);
      return directive;
    });
    if (dryRun) return { version: this.version, directives: made, diff: edits.flatMap((edit, at) => linesOf(edit, made[at])) };
    this.#tree = after;
    this.applied.push(...edits);
    for (const [at, { op }] of edits.entries()) if (op === 'add') this.#additions.add(made[at]?.id ?? 0);
    this.version++;
    return { version: this.version, directives: made.map((one) => after.byId(one.id) ?? one), diff: [] };
  }

  whenInForce(step: () => void): void {
    step();
  }

  /** @param id of the directive that it takes the place of */
  #made(text: string | NewDirective, id?: number): Directive {
    const data = editedDirective(text, this.#ids);
    const [directive] = toDirectives([id === undefined ? data : { ...data, id }]);
    if (directive === undefined) throw new Error('a directive was parsed to nothing');
    return directive;
  }
}

function operationOf(edit: Edit, made: Directive): TreeOperation {
  if (edit.op === 'remove') return { op: 'remove', id: made.id };
  const directive = directiveData(made);
  if (edit.op === 'replace') return { op: 'replace', directive };
  return { op: 'add', parent: edit.parent.id, directive, ...(edit.before && { before: edit.before.id }) };
}

function linesOf(edit: Edit, made: Directive | undefined): string[] {
  const gone = edit.op === 'add' ? [] : [`- ${exactDirective(edit.target).trimEnd()}`];
  return edit.op === 'remove' || made === undefined ? gone : [...gone, `+ ${exactDirective(made).trimEnd()}`];
}
