/** Checks directives against the specs of the loaded modules. Everything that is wrong is reported, in the order of the text. */
import { isMasked } from '../contract/secrets.js';
import { blockContext, engineOf, type AnyArgContext, type ContextName } from '../contract/spec.js';
import type { Word, Written } from '../contract/tree.js';
import { readArguments, synopsis } from '../contract/arguments.js';
import { byPosition, errorAt, type ConfigError } from './errors.js';
import { insteadOf, isOfNginx, missingNames } from './nginx-directives.js';
import type { ParsedText } from './parser.js';
import type { RegisteredSpec, SpecRegistry } from './registry.js';
import { nearest } from '../contract/suggest.js';
import { QUANTIFIER_REST } from './text-parser.js';

/** A directive of a tree, or as it comes from the parser. */
export type CheckedDirective = Written & { readonly id: number; readonly block?: Iterable<CheckedDirective> };

export interface ValidateOptions {
  readonly registry: SpecRegistry;
  /** Compiles templates and resolves paths as they will be active. */
  readonly args: AnyArgContext;
  /** The same for directives of the stream engine. Default: {@link args}. */
  readonly streamArgs?: AnyArgContext;
  /** Context of the directives. Default: `main`. */
  readonly context?: ContextName;
  /** Directives that are in the block already: a new one that is allowed only once is a duplicate of them. */
  readonly beside?: (name: string) => boolean;
  /** Called for valid directives that were probably meant differently. */
  readonly warn?: (warning: ConfigError) => void;
  /** Gets unknown names, where a module is missing that may declare them: only names that are probably misspelt are errors then. */
  readonly unchecked?: (name: string) => void;
  /** Ids of directives that are not looked at, only into: what is wrong with them is reported already. */
  readonly garbled?: ReadonlySet<number>;
}

/** All errors of a text, those of its form and those of its directives, in the order it is read. */
export function check(parsed: ParsedText, options: ValidateOptions): ConfigError[] {
  const { errors, rejected } = validated(parsed.directives, { ...options, garbled: parsed.garbled });
  const ofForm = parsed.errors.filter((error) => !rejected.has(parsed.follows.get(error) ?? NO_ID));
  return [...ofForm, ...errors].sort(byPosition);
}

/** All errors in these directives and their blocks, at most 1,000; empty: they may be used. */
export function validate(directives: Iterable<CheckedDirective>, options: ValidateOptions): ConfigError[] {
  return validated(directives, options).errors;
}

function validated(directives: Iterable<CheckedDirective>, options: ValidateOptions): Validator {
  const validator = new Validator(options);
  validator.block(directives, options.context ?? 'main', options.beside);
  return validator;
}

const NO_ID = -1;
const MOST_ERRORS = 1000;
const NOT_SUPPORTED = 'not supported by this version: ';

class Validator {
  readonly errors: ConfigError[] = [];
  /** Ids of directives with an error. */
  readonly rejected = new Set<number>();
  /** The directive whose arguments are read. */
  private current: CheckedDirective | undefined;
  private readonly registry: SpecRegistry;
  private readonly args: AnyArgContext;
  private readonly streamArgs: AnyArgContext;
  private readonly garbled: ReadonlySet<number>;
  private readonly warnWith: ValidateOptions['warn'];
  private readonly unchecked: ValidateOptions['unchecked'];
  /** Warnings that are given once. */
  private readonly warned = new Set<string>();

  constructor({ registry, args, streamArgs = args, garbled = new Set(), warn, unchecked }: ValidateOptions) {
    const warning = warn && { warn: (message: string, once?: 'once') => this.warn(message, once === 'once') };
    this.registry = registry;
    this.args = warning === undefined ? args : { ...args, ...warning };
    this.streamArgs = warning === undefined ? streamArgs : { ...streamArgs, ...warning };
    this.garbled = garbled;
    this.warnWith = warn;
    this.unchecked = unchecked;
  }

  block(directives: Iterable<CheckedDirective>, context: ContextName, beside?: (name: string) => boolean): void {
    const seen = new Map<string, Written>();
    for (const directive of directives) {
      const { name } = directive;
      const known = this.registry.find(context, name);
      if (known === undefined) {
        if (!this.garbled.has(directive.id)) this.rejectName(directive, context);
        continue;
      }
      const first = seen.get(name);
      if (known.spec.many === undefined && (first !== undefined || beside?.(name) === true)) this.rejectDuplicate(directive, first);
      if (first === undefined) seen.set(name, directive);
      this.directive(directive, known, context);
    }
  }

  private directive(directive: CheckedDirective, known: RegisteredSpec, context: ContextName): void {
    if (!this.garbled.has(directive.id)) this.line(directive, known, context);
    const inner = blockContext(known.spec);
    if (inner !== undefined && directive.block !== undefined) this.inside(directive.block, inner);
  }

  /** The directive without what is in its block. */
  private line(directive: CheckedDirective, known: RegisteredSpec, context: ContextName): void {
    const { name, block } = directive;
    const { spec, signature } = known;
    if (spec.block === undefined && block !== undefined) this.reject(directive, `directive "${name}" is not terminated by ";"`);
    else if (spec.block !== undefined && block === undefined) {
      this.reject(directive, `directive "${name}" has no opening "{"`, undefined, `syntax: ${synopsis(name, signature)}`);
    } else this.arguments(directive, known, context);
  }

  private inside(block: Iterable<CheckedDirective>, context: ContextName): void {
    if (context === 'entries') this.entries(block);
    else this.block(block, context);
  }

  private arguments(directive: CheckedDirective, { signature }: RegisteredSpec, context: ContextName): void {
    const runOn = this.missingSemicolon(directive, context);
    let rejected = false;
    this.current = directive;
    const args = engineOf(context) === 'stream' ? this.streamArgs : this.args;
    const masked = directive.args.find(({ text }) => isMasked(directive.name, text, directive.args[0]!.text));
    if (masked !== undefined)
      this.reject(directive, `"${masked.text}" is shown in the place of a secret`, masked, 'write the secret itself');
    else
      readArguments(signature, directive, args, (message, word, hint) => {
        // Whatever is wrong with the words of the next line follows from the missing semicolon.
        if (runOn === undefined || !rejected) this.reject(directive, message, word, runOn ?? hint);
        rejected = true;
      });
  }

  /** A directive that took in the next line, because the `;` between them is missing. */
  private missingSemicolon({ name, args, source }: CheckedDirective, context: ContextName): string | undefined {
    if (args.at(-1)?.line === source.line) return undefined;
    let before = { line: source.line, text: name };
    for (const word of args) {
      if (word.line > before.line && word.quote === undefined && this.registry.find(context, word.text) !== undefined) {
        return `is ";" missing after "${before.text}" in line ${before.line}?`;
      }
      before = word;
    }
    return undefined;
  }

  private entries(lines: Iterable<CheckedDirective>): void {
    for (const line of lines) if (line.block !== undefined) this.reject(line, 'unexpected "{"');
  }

  private rejectName(directive: CheckedDirective, context: ContextName): void {
    const { name, block } = directive;
    const [elsewhere] = this.registry.contextsOf(name);
    if (elsewhere === undefined) {
      if (this.unchecked !== undefined && !this.isMisspelt(name)) this.unchecked(name);
      else this.reject(directive, `unknown directive "${name}"`, undefined, this.hintForUnknown(name, context));
      return;
    }
    this.reject(directive, `"${name}" directive is not allowed here`, undefined, `it may stand in: ${this.placesOf(name, context)}`);
    const inside = this.registry.contextInside(elsewhere, name);
    if (block !== undefined && inside !== undefined) this.inside(block, inside);
  }

  private rejectDuplicate(directive: CheckedDirective, first: Written | undefined): void {
    const hint = first && `the first one is in ${first.source.file}:${first.source.line}`;
    this.reject(directive, `"${directive.name}" directive is duplicate`, undefined, hint);
  }

  /** Whatever modules there may be, this is none of their names. */
  private isMisspelt(name: string): boolean {
    const known = [...this.registry.names(), ...this.missing()];
    return isOfNginx(name) || QUANTIFIER_REST.test(name) || nearest(name, known, 1) !== undefined;
  }

  private hintForUnknown(name: string, context: ContextName): string | undefined {
    const file = this.registry.shippedIn(name);
    if (file !== undefined) return `add "load_module ${file};" at the top of the configuration`;
    if (isOfNginx(name)) return notSupported(name);
    if (QUANTIFIER_REST.test(name)) return 'put a regular expression with "{" in it into quotes';
    const possible = [...this.registry.namesIn(context)];
    const meant = nearest(name, [...possible, ...this.missing()], 1) ?? nearest(name, possible);
    if (meant !== undefined) return this.suggestion(meant, context);
    // Short names are soon like some other one.
    const elsewhere = nearest(name, [...this.registry.names(), ...this.missing()], Math.floor(name.length / 4));
    return elsewhere && this.suggestion(elsewhere, context);
  }

  private suggestion(name: string, context: ContextName): string {
    const meant = `did you mean "${name}"?`;
    if (this.registry.find(context, name) !== undefined) return meant;
    const file = this.registry.shippedIn(name);
    if (file !== undefined) return `${meant} It needs "load_module ${file};" at the top of the configuration`;
    const places = this.placesOf(name, context);
    return places === '' ? `${meant} ${notSupported(name)}` : `${meant} It may stand in: ${places}`;
  }

  /** Directives of nginx that no loaded module has: also the ones of shipped modules. */
  private missing(): readonly string[] {
    return [...missingNames((name) => this.registry.contextsOf(name).length > 0), ...this.registry.shippedNames()];
  }

  /** @param context the context it is in: in `stream`, `server` and `upstream` alone would be its own blocks */
  private placesOf(name: string, context: ContextName): string {
    const { registry } = this;
    const isOfStream = engineOf(context) === 'stream';
    return registry
      .contextsOf(name)
      .filter((place) => registry.isOpened(place))
      .map((place) => (isOfStream && registry.isOpened(`stream ${place}`) ? `${place} of http` : place))
      .join(', ');
  }

  private warn(message: string, once: boolean): void {
    if (this.current === undefined || this.warned.has(message)) return;
    if (once) this.warned.add(message);
    this.warnWith?.(errorAt(this.current, message));
  }

  private reject(directive: CheckedDirective, message: string, word?: Word, hint?: string): void {
    this.rejected.add(directive.id);
    if (this.errors.length < MOST_ERRORS) this.errors.push(errorAt(directive, message, word, hint));
  }
}

function notSupported(name: string): string {
  return NOT_SUPPORTED + (insteadOf(name) ?? 'docs/configuration.md lists what is');
}
