/** All directives a server knows: those of its loaded modules, and the names that shipped modules would bring. */
import { blockContext, type ContextName, type DirectiveSpec, type Directives } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';
import { Signature } from '../contract/arguments.js';
import type { Tree } from './tree.js';

/** A directive of a loaded module. */
export class RegisteredSpec {
  #signature: Signature | undefined;

  /** @param module name of the one that declared it */
  constructor(
    readonly name: string,
    readonly spec: DirectiveSpec,
    readonly module: string,
  ) {}

  /** Made at its first use: a configuration has a few of the directives. */
  get signature(): Signature {
    return (this.#signature ??= new Signature(this.spec));
  }
}

type Groups = ReadonlyMap<string, readonly number[]>;

const NONE: readonly RegisteredSpec[] = [];

export class SpecRegistry {
  private readonly contexts = new Map<ContextName, Map<string, RegisteredSpec>>();
  /** Contexts that directives can be in: the ones that some directive opens. */
  private readonly opened = new Set<ContextName>(['main']);
  private readonly contextsByName = new Map<string, ContextName[]>();
  /** Directives whose file holds a part of the block they are in, by context. */
  private readonly holders = new Map<ContextName, RegisteredSpec[]>();
  private readonly modules = new Set<string>();
  private readonly shipped = new Map<string, string>();
  private readonly identities = new WeakMap<Directive, string>();
  private readonly groups = new WeakMap<readonly Directive[], Groups>();
  private readonly namesInBlocks = new WeakMap<Directive, string>();

  /**
   * Takes the directives of a loaded module.
   * @returns a sentence for each directive that another module has declared for the same context; these are left out
   */
  register(module: string, directives: Directives): string[] {
    const faults: string[] = [];
    this.modules.add(module);
    for (const [key, spec] of Object.entries(directives)) {
      const name = spec.name ?? key;
      const entry = new RegisteredSpec(name, spec, module);
      const inner = blockContext(spec);
      if (inner !== undefined) this.opened.add(inner);
      for (const context of spec.in) faults.push(...this.add(context, entry));
      if (typeof spec.block === 'object') faults.push(...this.register(module, spec.block.directives));
    }
    return faults;
  }

  /** Remembers the directives of a shipped module for hints with its `load_module` line. */
  registerShipped(file: string, directives: Iterable<string>): void {
    for (const name of directives) if (!this.shipped.has(name)) this.shipped.set(name, file);
  }

  find(context: ContextName, name: string): RegisteredSpec | undefined {
    return this.contexts.get(context)?.get(name);
  }

  /** Identity of a directive, by the spec of its context. A directive never changes: thousands of servers are analysed once. */
  identityOf(directive: Directive, { identity }: DirectiveSpec): string {
    const known = this.identities.get(directive);
    if (known !== undefined) return known;
    const text = identity?.(directive) ?? '';
    this.identities.set(directive, text);
    return text;
  }

  /** Ids of the directives of a run ({@link ConfigBlock.runs}) by what they are called in their block, which never changes either. */
  groupsOf(run: readonly Directive[], nameOf: (directive: Directive) => string): Groups {
    const known = this.groups.get(run);
    if (known !== undefined) return known;
    const groups = new Map<string, number[]>();
    for (const directive of run) {
      const name = this.namesInBlocks.get(directive) ?? nameOf(directive);
      this.namesInBlocks.set(directive, name);
      const group = groups.get(name);
      if (group === undefined) groups.set(name, [directive.id]);
      else group.push(directive.id);
    }
    this.groups.set(run, groups);
    return groups;
  }

  /** Contexts the directive may be in, in the order they were declared; empty: it is unknown. */
  contextsOf(name: string): readonly ContextName[] {
    return this.contextsByName.get(name) ?? [];
  }

  /** False for a context that specs name, but that no loaded module has a block for. */
  isOpened(context: ContextName): boolean {
    return this.opened.has(context);
  }

  /** Names that may be in a context. */
  namesIn(context: ContextName): Iterable<string> {
    return this.contexts.get(context)?.keys() ?? [];
  }

  /** The directives of a context whose file holds a part of their block, such as `state`. */
  holdersIn(context: ContextName): readonly RegisteredSpec[] {
    return this.holders.get(context) ?? NONE;
  }

  /** All names of loaded modules. */
  names(): Iterable<string> {
    return this.contextsByName.keys();
  }

  /** True if a module has declared directives. */
  hasModule(name: string): boolean {
    return this.modules.has(name);
  }

  /** File of the shipped module that brings the directive: `modules/srv_http_captcha_module.so`. */
  shippedIn(name: string): string | undefined {
    return this.shipped.get(name);
  }

  /** All names that shipped modules would bring that are not loaded. */
  shippedNames(): Iterable<string> {
    return this.shipped.keys();
  }

  /** The context that the children of a directive stand in; undefined if it is unknown there or opens no block. */
  contextInside(context: ContextName, name: string): ContextName | undefined {
    const found = this.find(context, name);
    return found && blockContext(found.spec);
  }

  /** The context a directive of a tree is in; undefined if something around it is unknown. */
  contextOf(tree: Tree, id: number): ContextName | undefined {
    return this.along(tree.pathOf(id).slice(0, -1));
  }

  /** The context that the directives in the block of `id` stand in. `ROOT_ID`: `main`. */
  contextWithin(tree: Tree, id: number): ContextName | undefined {
    return this.along(tree.pathOf(id));
  }

  private along(path: readonly Directive[]): ContextName | undefined {
    let context: ContextName | undefined = 'main';
    for (const { name } of path) context = context && this.contextInside(context, name);
    return context;
  }

  private add(context: ContextName, entry: RegisteredSpec): string[] {
    const names = this.contexts.get(context) ?? new Map<string, RegisteredSpec>();
    const other = names.get(entry.name);
    if (other !== undefined) {
      return [`directive "${entry.name}" in context "${context}" is declared by both "${other.module}" and "${entry.module}"`];
    }
    this.contexts.set(context, names.set(entry.name, entry));
    if (entry.spec.holds !== undefined) this.holders.set(context, [...this.holdersIn(context), entry]);
    this.contextsByName.set(entry.name, [...this.contextsOf(entry.name), context]);
    return [];
  }
}
