import { ConfReader } from '../../config/conf.js';
import { errorAt } from '../../config/errors.js';
import { ErrorCollector } from '../../config/error-collector.js';
import type { Scope } from '../../module/http.js';
import type { ArgContext, Conf, ContextName, Directives } from '../../module/spec.js';
import type { Block, Directive } from '../../module/tree.js';

/** Reads the configuration of one module, in every scope. */
export class ScopedReader {
  readonly #reader: ConfReader<Directives>;
  /** What was read, by scope. */
  readonly #read = new WeakMap<ScopeNode, Conf<Directives>>();
  readonly #views = new WeakMap<ScopeNode, Scope>();

  constructor(
    specs: Directives,
    private readonly args: ArgContext,
  ) {
    this.#reader = new ConfReader(specs);
  }

  conf(node: ScopeNode): Conf<Directives> {
    const known = this.#read.get(node);
    if (known !== undefined) return known;
    const parent = node.parent === undefined ? undefined : this.conf(node.parent);
    const conf = this.#reader.read(node, parent, this.args);
    this.#read.set(node, conf);
    return conf;
  }

  /** The scope as the module sees it. */
  view(node: ScopeNode): Scope {
    const known = this.#views.get(node);
    if (known !== undefined) return known;
    const view = new ModuleScope(node, this);
    this.#views.set(node, view);
    return view;
  }
}

/** One block that settings are read for, with the blocks around it. The same for all modules. */
export class ScopeNode {
  constructor(
    readonly kind: Scope['kind'],
    readonly context: ContextName,
    readonly directive: Directive | undefined,
    readonly block: Block | undefined,
    readonly parent: ScopeNode | undefined,
  ) {}

  /** The directives of that name in its block, or in the innermost block around it that has any. */
  linesInForce(name: string): readonly Directive[] {
    const own = [...(this.block?.named(name) ?? [])];
    return own.length > 0 || this.parent === undefined ? own : this.parent.linesInForce(name);
  }

  /** The first of them. */
  lineInForce(name: string): Directive | undefined {
    return this.linesInForce(name)[0];
  }

  /** True if `other` is the same scope with the same settings of its own: blocks inside it may differ. */
  settlesLike(other: ScopeNode | undefined): boolean {
    if (other === undefined || other.kind !== this.kind || other.parent !== this.parent) return false;
    if (other.block === this.block) return true;
    return sameSettings(this.block, other.block);
  }
}

/** Blocks that are scopes of their own, so that a change in them leaves the settings around them as they are. */
const INNER = new Set(['server', 'location', 'upstream']);

function sameSettings(a: Block | undefined, b: Block | undefined): boolean {
  const left = settingsOf(a);
  const right = settingsOf(b);
  return left.length === right.length && left.every((directive, at) => directive === right[at]);
}

function settingsOf(block: Block | undefined): Directive[] {
  const settings: Directive[] = [];
  for (const directive of block ?? []) if (!INNER.has(directive.name)) settings.push(directive);
  return settings;
}

class ModuleScope implements Scope {
  readonly #node: ScopeNode;
  readonly #reader: ScopedReader;

  constructor(node: ScopeNode, reader: ScopedReader) {
    this.#node = node;
    this.#reader = reader;
  }

  get kind(): Scope['kind'] {
    return this.#node.kind;
  }
  get conf(): Conf<Directives> {
    return this.#reader.conf(this.#node);
  }
  get directive(): Directive | undefined {
    return this.#node.directive;
  }
  get parent(): Scope | undefined {
    return this.#node.parent && this.#reader.view(this.#node.parent);
  }

  own(name: string): boolean {
    for (const _ of this.#node.block?.named(name) ?? []) return true;
    return false;
  }

  lines(name: string): readonly Directive[] {
    return this.#node.linesInForce(name);
  }

  fail(message: string, place?: string | Directive, hint?: string): never {
    const directive = (typeof place === 'string' ? this.#node.lineInForce(place) : place) ?? this.#node.directive;
    if (directive === undefined) throw new Error(message);
    throw errorAt(directive, message, undefined, hint);
  }

  each<T, R>(items: Iterable<T>, step: (item: T) => R): R[] {
    const mistakes = new ErrorCollector();
    const results: R[] = [];
    for (const item of items) mistakes.attempt(() => results.push(step(item)));
    mistakes.throwIfAny();
    return results;
  }
}
