/** Checks directives against the specs of the loaded modules. Everything that is wrong is reported, in the order of the text. */
import type { ArgContext, ContextName } from '../module/spec.js';
import type { Word } from '../module/tree.js';
import { readArguments, synopsis } from './arguments.js';
import { errorAt, type ConfigError, type Written } from './errors.js';
import type { RegisteredSpec, SpecRegistry } from './registry.js';
import { nearest } from './suggest.js';

/** A directive of a tree, or as it comes from the parser. */
export type Checked = Written & { readonly block?: Iterable<Checked> };

export interface ValidateOptions {
  readonly registry: SpecRegistry;
  /** Compiles templates and resolves paths as they will be in force. */
  readonly args: ArgContext;
  /** Where the directives stand. Default: `main`. */
  readonly context?: ContextName;
  /** Directives that stand in the block already: a new one that may stand only once is a duplicate of them. */
  readonly beside?: (name: string) => boolean;
}

/** All mistakes in these directives and their blocks; empty: they may be used. */
export function validate(directives: Iterable<Checked>, { registry, args, context = 'main', beside }: ValidateOptions): ConfigError[] {
  const validator = new Validator(registry, args);
  validator.block(directives, context, beside);
  return validator.errors;
}

class Validator {
  readonly errors: ConfigError[] = [];

  constructor(
    private readonly registry: SpecRegistry,
    private readonly args: ArgContext,
  ) {}

  block(directives: Iterable<Checked>, context: ContextName, beside?: (name: string) => boolean): void {
    const seen = new Set<string>();
    for (const directive of directives) {
      const known = this.registry.find(context, directive.name);
      if (known === undefined) {
        this.refuseName(directive, context);
        continue;
      }
      if (known.spec.many === undefined && (seen.has(directive.name) || beside?.(directive.name) === true)) {
        this.refuse(directive, `"${directive.name}" directive is duplicate`);
      }
      seen.add(directive.name);
      this.directive(directive, known, context);
    }
  }

  private directive(directive: Checked, known: RegisteredSpec, context: ContextName): void {
    const { name, block } = directive;
    const { spec, signature } = known;
    if (spec.block === undefined && block !== undefined) this.refuse(directive, `directive "${name}" is not terminated by ";"`);
    else if (spec.block !== undefined && block === undefined) {
      this.refuse(directive, `directive "${name}" has no opening "{"`, undefined, `syntax: ${synopsis(name, signature, true)}`);
    } else this.arguments(directive, known, context);

    if (spec.block === undefined || block === undefined) return;
    if (spec.block === 'entries') this.entries(block);
    else this.block(block, spec.block);
  }

  private arguments(directive: Checked, { signature }: RegisteredSpec, context: ContextName): void {
    const runOn = this.missingSemicolon(directive, context);
    readArguments(signature, directive, this.args, (message, word, hint) => {
      this.refuse(directive, message, word, runOn ?? hint);
    });
  }

  /** A directive that took in the next line, because the `;` between them is missing. */
  private missingSemicolon({ name, args, source }: Checked, context: ContextName): string | undefined {
    let before = { line: source.line, text: name };
    for (const word of args) {
      if (word.line > before.line && word.quote === undefined && this.registry.find(context, word.text) !== undefined) {
        return `is ";" missing after "${before.text}" in line ${before.line}?`;
      }
      before = word;
    }
    return undefined;
  }

  private entries(lines: Iterable<Checked>): void {
    for (const line of lines) if (line.block !== undefined) this.refuse(line, 'unexpected "{"');
  }

  private refuseName(directive: Checked, context: ContextName): void {
    const { name } = directive;
    const contexts = this.registry.contextsOf(name);
    if (contexts.length === 0) this.refuse(directive, `unknown directive "${name}"`, undefined, this.hintForUnknown(name, context));
    else this.refuse(directive, `"${name}" directive is not allowed here`, undefined, `it may stand in: ${contexts.join(', ')}`);
  }

  private hintForUnknown(name: string, context: ContextName): string | undefined {
    const file = this.registry.shippedIn(name);
    if (file !== undefined) return `add "load_module ${file};" at the top of the configuration`;
    const meant = nearest(name, this.registry.namesIn(context)) ?? nearest(name, this.registry.names());
    return meant && `did you mean "${meant}"?`;
  }

  private refuse(directive: Checked, message: string, word?: Word, hint?: string): void {
    this.errors.push(errorAt(directive, message, word, hint));
  }
}
