import { ConfReader, ownDirective, ownDirectives } from './conf.js';
import { eachCollecting } from './error-collector.js';
import { messageWithPlace } from './error-report.js';
import { errorAt } from './errors.js';
import { sameHead } from './operations.js';
import { systemErrorText } from '../contract/system-error.js';
import type { BlockScope } from '../contract/scope.js';
import type { InputFile, Resource } from '../contract/resource.js';
import type { ArgContext, Conf, ContextName, Directives } from '../contract/spec.js';
import type { Block, Directive } from '../contract/tree.js';
import { NO_LIMITS, type ResourceLimits, type UnitRecorder } from './holdings.js';

/** Reads the configuration of one module, in every scope of a traffic engine: `K` are its kinds of blocks, `R` is its kind of request. */
export class ScopedReader<K extends string, R> {
  readonly #reader: ConfReader<Directives>;
  /** Notes what the module looks at, while it is called to find that out. */
  looks: BlockLooks | undefined;
  /** Directives, of this module or others, that it has asked any block for. */
  readonly asked = new Set<string>();

  /** @param index of this reader among those of one compiler: scopes keep what each of them gave */
  constructor(
    private readonly index: number,
    specs: Directives,
    readonly args: ArgContext<R>,
    readonly recorder: UnitRecorder,
    readonly resourceLimits: ResourceLimits = NO_LIMITS,
  ) {
    this.#reader = new ConfReader(specs);
  }

  conf(node: ScopeNode): Conf<Directives> {
    const known = node.confs.get(this.index);
    if (known !== undefined) return known;
    const parent = node.parent === undefined ? undefined : this.conf(node.parent);
    const conf = this.#reader.read(node, parent, this.args);
    node.confs.set(this.index, conf);
    return conf;
  }

  /** The scope as the module sees it. */
  view(node: ScopeNode): ModuleScope<K, R> {
    const known = node.views.get(this.index) as ModuleScope<K, R> | undefined;
    if (known !== undefined) return known;
    const view = new ModuleScope(node, this);
    node.views.set(this.index, view);
    return view;
  }
}

/** Things a module has looked at in a block, other than the values that its directives have there. */
export class BlockLooks {
  /** Directives that it has asked the block for. */
  readonly names = new Set<string>();
  /** It has looked at what no other block has: its line, the blocks in it. Or it holds something for it, or warns of it. */
  isOwn = false;

  constructor(readonly node: ScopeNode) {}
}

/** Which directives have no effect inside the blocks of the block they are in. */
export type StaysOutside = (name: string) => boolean;

/** One block that settings are read for, with the blocks around it. The same for all modules. */
export class ScopeNode {
  /**
   * The scope that inner ones have as their parent: this one, or an earlier one with the same settings for them, so that a change of what has
   * no effect inside leaves them as they are.
   */
  readonly outer: ScopeNode;
  /** By the index of the reader. */
  readonly confs = new Map<number, Conf<Directives>>();
  readonly views = new Map<number, unknown>();
  #lines: Map<string, readonly Directive[]> | undefined;
  #owns: Map<string, boolean> | undefined;
  #inner: Map<Directive, ScopeNode> | undefined;

  constructor(
    readonly kind: string,
    readonly context: ContextName,
    readonly directive: Directive | undefined,
    readonly block: Block | undefined,
    readonly parent: ScopeNode | undefined,
    outer?: ScopeNode,
  ) {
    this.outer = outer ?? this;
  }

  /** This scope, or what can be kept of `old`, which the same directive was before: all of it, or what inner scopes see of it. */
  continuing(old: ScopeNode | undefined, staysOutside: StaysOutside): ScopeNode {
    if (old === undefined || old.kind !== this.kind || old.parent !== this.parent) return this;
    if (this.directive !== undefined && (old.directive === undefined || !sameHead(this.directive, old.directive))) return this;
    if (old.block === this.block) return old;
    const [settings, before] = [settingsOf(this.block), settingsOf(old.block)];
    if (isSame(settings, before)) return old;
    const reachesInside = ({ name }: Directive): boolean => !staysOutside(name);
    if (!isSame(settings.filter(reachesInside), before.filter(reachesInside))) return this;
    return new ScopeNode(this.kind, this.context, this.directive, this.block, this.parent, old.outer);
  }

  /** The scope of a block in this one that is compiled with it (`if`, `limit_except`). */
  inner(directive: Directive): ScopeNode {
    const known = this.#inner?.get(directive);
    if (known !== undefined) return known;
    const isIf = directive.name === 'if';
    const context = isIf ? `if in ${this.kind === 'server' ? 'server' : 'location'}` : 'limit_except';
    const node = new ScopeNode(isIf ? 'if' : 'limit_except', context, directive, directive.block, this);
    this.#inner ??= new Map();
    this.#inner.set(directive, node);
    return node;
  }

  /** True if a directive of that name is in its block. */
  owns(name: string): boolean {
    const known = this.#owns?.get(name);
    if (known !== undefined) return known;
    const owns = this.block !== undefined && ownDirective(this.block, name) !== undefined;
    if (this.#isOuter) {
      this.#owns ??= new Map();
      this.#owns.set(name, owns);
    }
    return owns;
  }

  /** The directives of that name in its block, or in the innermost block around it that has any. */
  linesInForce(name: string): readonly Directive[] {
    const known = this.#lines?.get(name);
    if (known !== undefined) return known;
    const own = this.block === undefined ? NO_LINES : ownDirectives(this.block, name);
    const lines = own.length > 0 || this.parent === undefined ? own : this.parent.linesInForce(name);
    if (!this.#isOuter) return lines;
    this.#lines ??= new Map();
    this.#lines.set(name, lines);
    return lines;
  }

  /** Blocks with many others in them are asked again and again. */
  get #isOuter(): boolean {
    return OUTER.has(this.kind);
  }

  /** The first of them. */
  lineInForce(name: string): Directive | undefined {
    return this.linesInForce(name)[0];
  }
}

const NO_LINES: readonly Directive[] = [];

/** Kinds of scopes that hold many others. */
const OUTER = new Set(['http', 'stream', 'server']);

/** Blocks that are scopes of their own, so that a change in them leaves the settings around them as they are. */
const SCOPES = new Set(['http', 'stream', 'server', 'location', 'upstream']);

function settingsOf(block: Block | undefined): Directive[] {
  const settings: Directive[] = [];
  for (const directive of block ?? []) if (!SCOPES.has(directive.name)) settings.push(directive);
  return settings;
}

function isSame(a: readonly Directive[], b: readonly Directive[]): boolean {
  return a.length === b.length && a.every((directive, at) => directive === b[at]);
}

/**
 * Names of the directives that blocks inside of a scope inherit another way than before. Undefined: more than directives is different.
 * @param before the scope that they were in
 */
export function changedNames(
  before: ScopeNode | undefined,
  after: ScopeNode | undefined,
  staysOutside: StaysOutside,
): ReadonlySet<string> | undefined {
  const names = new Set<string>();
  for (let [old, now] = [before, after]; old !== now; [old, now] = [old?.parent, now?.parent]) {
    if (old === undefined || now === undefined || old.kind !== now.kind) return undefined;
    if (old.directive !== now.directive) {
      if (old.directive === undefined || now.directive === undefined || !sameHead(old.directive, now.directive)) return undefined;
      const changed = changedSettings(settingsOf(old.block), settingsOf(now.block));
      if (changed === undefined) return undefined;
      for (const name of changed) if (!staysOutside(name)) names.add(name);
    }
  }
  return names;
}

/** Undefined: the others have another order. */
function changedSettings(before: readonly Directive[], after: readonly Directive[]): ReadonlySet<string> | undefined {
  const [gone, come] = [new Set(before), new Set(after)];
  const names = new Set<string>();
  for (const directive of before) if (!come.has(directive)) names.add(directive.name);
  for (const directive of after) if (!gone.has(directive)) names.add(directive.name);
  const others = (settings: readonly Directive[]): Directive[] => settings.filter(({ name }) => !names.has(name));
  return isSame(others(before), others(after)) ? names : undefined;
}

/** A scope as one module sees it. */
class ModuleScope<K extends string, R> implements BlockScope<Directives, K, R> {
  readonly #node: ScopeNode;
  readonly #reader: ScopedReader<K, R>;

  constructor(node: ScopeNode, reader: ScopedReader<K, R>) {
    this.#node = node;
    this.#reader = reader;
  }

  get kind(): K {
    return this.#node.kind as K;
  }
  get conf(): Conf<Directives> {
    return this.#reader.conf(this.#node);
  }
  get directive(): Directive | undefined {
    this.#lookAtOwn();
    return this.#node.directive;
  }
  get args(): ArgContext<R> {
    return this.#reader.args;
  }
  get parent(): ModuleScope<K, R> | undefined {
    return this.#node.parent && this.#reader.view(this.#node.parent);
  }

  get signal(): AbortSignal {
    this.#lookAtOwn();
    return this.#reader.recorder.signal(this.#reader.resourceLimits);
  }

  own(name: string): boolean {
    this.#lookFor(name);
    return this.#node.owns(name);
  }

  lines(name: string): readonly Directive[] {
    this.#lookFor(name);
    return this.#node.linesInForce(name);
  }

  inner(block: Directive): ModuleScope<K, R> {
    this.#lookAtOwn();
    return this.#reader.view(this.#node.inner(block));
  }

  file<T>(path: string, parse: (file: InputFile) => T, place?: string | Directive, message?: (reason: string) => string): T {
    this.#lookAtOwn();
    try {
      return this.#reader.recorder.file(path, parse);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
      const reason = systemErrorText(error);
      return this.fail(message?.(reason) ?? `open() "${path}" failed (${reason})`, place);
    }
  }

  register(resource: Resource): void {
    this.#lookAtOwn();
    this.#reader.recorder.register(resource, this.#reader.resourceLimits, this.#node.directive);
  }

  fail(message: string, place?: string | Directive, hint?: string): never {
    const directive = this.#lineAt(place);
    if (directive === undefined) throw new Error(message);
    throw errorAt(directive, message, undefined, hint);
  }

  advise(message: string, place?: string | Directive): void {
    this.#lookAtOwn();
    const directive = this.#lineAt(place);
    this.#reader.recorder.warn(directive === undefined ? message : messageWithPlace(errorAt(directive, message)));
  }

  #lookFor(name: string): void {
    const { asked, looks } = this.#reader;
    asked.add(name);
    if (looks?.node === this.#node) looks.names.add(name);
  }

  #lookAtOwn(): void {
    const { looks } = this.#reader;
    if (looks?.node === this.#node) looks.isOwn = true;
  }

  #lineAt(place: string | Directive | undefined): Directive | undefined {
    return (typeof place === 'string' ? this.#node.lineInForce(place) : place) ?? this.#node.directive;
  }

  each<T, R>(items: Iterable<T>, step: (item: T) => R): R[] {
    return eachCollecting(items, step);
  }
}
