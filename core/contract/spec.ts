/**
 * Directive specs: what a module declares about its directives. The parser's checks, the typed configuration, the error hints and
 * the dynamic API all read the same data.
 */
import type { Directive } from './tree.js';
import type { HttpRequest } from './http.js';
import type { Getter, EngineTemplate } from './template.js';

/** Surroundings of an argument parser. Variables are those of the traffic engine that the directive is for. */
export interface ArgContext<R = HttpRequest> {
  /** Compiles a value with variables; throws {@link ArgError} for unknown variables. */
  template(text: string): EngineTemplate<R>;
  /** The pieces of a value with variables: constant text, or the getter of a variable. For values that need more than the joined text. */
  parts(text: string): readonly (string | Getter<R>)[];
  /** Makes a path absolute: relative ones are under the prefix, or under the folder of the configuration file. */
  path(text: string, under?: 'prefix' | 'conf'): string;
  /**
   * Called with a file that an argument with variables names; {@link path} is called for others. Absent if it is not needed.
   * @param under as for {@link path}
   */
  names?(text: string, under?: 'prefix' | 'conf'): void;
  /**
   * Warns of a valid but probably unintended argument. Absent where warnings were given already.
   * @param once not again for another directive of the same configuration
   */
  readonly warn?: (message: string, once?: 'once') => void;
}

/** That of any traffic engine. */
export type AnyArgContext = ArgContext<never>;

/** The reason why an argument is rejected. `hint` says what would be accepted. */
export class ArgError extends Error {
  constructor(
    message: string,
    readonly hint?: string,
    /** Further errors of the same argument. */
    readonly further: readonly ArgError[] = [],
  ) {
    super(message);
  }
}

/** A JSON schema, as plain data. `description` completes the sentence "must be …". */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** An argument in the JSON of the API. */
export interface JsonForm<T, J> {
  /** Schema of values that the API accepts. */
  readonly schema: JsonSchema;
  /** Schema of values that it shows, if that is less. */
  readonly shown?: JsonSchema;
  /** The value as the API shows it. */
  show(value: T): J;
  /** The text of a value that fits the schema, for {@link ArgType.parse}. @throws ArgError */
  text(value: J): string;
}

/**
 * How the content of a zone is shared between nodes:
 * - `count`: what is added to the numbers of a record on one node is added on the others.
 * - `last`: the record that was changed last replaces those of the other nodes.
 * - `sum`: what is held under a key counts on all nodes, until its node is gone.
 */
export type ZoneSync = 'count' | 'last' | 'sum';

/**
 * One kind of argument. `kind` and `form` are data for docs and hints; `parse` throws {@link ArgError}.
 * `T` is the type of its value, `J` that of its JSON.
 */
export interface ArgType<T, J = unknown> {
  readonly kind:
    | 'text'
    | 'zone'
    | 'copies'
    | 'number'
    | 'size'
    | 'time'
    | 'flag'
    | 'choice'
    | 'template'
    | 'path'
    | 'param'
    | 'word'
    | 'rest'
    | 'optional';
  /** How it is written in a synopsis: `size`, `on | off`, `weight=number`. */
  readonly form: string;
  /** @param written the whole word, for messages that quote it: `key=text` of a parameter */
  readonly parse: (text: string, context: ArgContext, written?: string) => T;
  /** The text that `parse` gives this value for: the same for equal values, however they were written. */
  print(value: T): string;
  /** The value in the API. */
  readonly json: JsonForm<T, J>;
  /** For `param` and `word`: the name before `=`, or the word itself. These may be anywhere after the positional arguments. */
  readonly key?: string;
  /** For `rest`: the least number of arguments it takes. */
  readonly least?: number;
  /** For `optional`, `rest` and `param`: the type of the value itself. */
  readonly of?: ArgType<unknown>;
  /** Value when the argument is absent (`optional`, `param`, `word`). */
  readonly absent?: T;
  /** A `param` that has to be there. */
  readonly required?: true;
  /** A `param` that may be the word alone, without `=`: its value is empty then. */
  readonly mayBeBare?: true;
  /** Of a zone: how it is shared between nodes, where its directive has {@link zoneSync}. */
  readonly sync?: ZoneSync;
}

/**
 * The contexts that srv itself knows; modules may open others. One name each:
 * - `if in server`, `if in location`: the block of `if` in a server, and in a location (NGX_HTTP_SIF_CONF, NGX_HTTP_LIF_CONF). The directive
 *   `if` itself has two specs, `{ name: 'if', in: ['server'], block: 'if in server' }` and one of the other pair.
 * - `limit_except`: the block of `limit_except` in a location.
 * - `upstream`: the block of `upstream` in `http`.
 * - `stream`, `stream server`, `stream upstream`: the block of the stream engine, and those of `server` and `upstream` in it.
 *
 * Directives of contexts whose name begins with `stream` have variables of sessions, those of all others variables of requests.
 */
export const CONTEXTS = [
  'main',
  'events',
  'http',
  'server',
  'location',
  'if in server',
  'if in location',
  'limit_except',
  'upstream',
  'stream',
  'stream server',
  'stream upstream',
] as const;

/** Context in which a directive is allowed: one of {@link CONTEXTS}, or one that a directive of a module opens with `block`. */
export type ContextName = (typeof CONTEXTS)[number] | (string & {});

/** A traffic engine, by its block in the configuration. */
export type EngineName = 'http' | 'stream';

/** The engine whose variables the directives of a context have. */
export function engineOf(context: ContextName): EngineName {
  return context === 'stream' || context.startsWith('stream ') ? 'stream' : 'http';
}

/**
 * How an inner level takes a value from outside.
 * - `value` (default): an own directive replaces the outer one; with `many`, any own one replaces all the outer ones (as nginx does).
 * - `append`: the outer ones stay, own ones follow.
 * - `none`: what is outside has no effect inside.
 */
export type Inherit = (typeof INHERITANCES)[number];
export const INHERITANCES = ['value', 'append', 'none'] as const;

type ArgRecord = Readonly<Record<string, ArgType<unknown>>>;
type Args = ArgType<unknown> | ArgRecord | undefined;

/**
 * A block whose directives are part of the value: checked, typed and defaulted as those of any scope, and declared with the directive itself.
 * The value of the directive has them as `block`, beside its arguments, which are a record or absent.
 */
export interface TypedBlock {
  /** The context of these directives, `in` of each of them. Modules may declare others for it. */
  readonly context: ContextName;
  readonly directives: Directives;
}

/** The declaration of one directive. */
export interface DirectiveSpec {
  /** The directive's name where it is not the key of its spec: two specs of one name for different contexts (`if`). */
  readonly name?: string;
  /** One at least. */
  readonly in: readonly ContextName[];
  /** One argument type: the value itself. A record: an object with these fields, positional ones in the order written. Absent: a flag-like directive without arguments. */
  readonly args?: Args;
  /** Allowed several times in one block; the value is an array. */
  readonly many?: true;
  readonly inherit?: Inherit;
  /**
   * It opens a block: the context of the directives inside, `entries` for free lines (`types`, `map`), which are not checked as directives,
   * or a {@link TypedBlock}.
   */
  readonly block?: ContextName | 'entries' | TypedBlock;
  /** Value if it is absent, written as in a configuration file: `default: '60s'`. `args` must accept it. */
  readonly default?: string;
  /** Two of these in one block are the same thing when this gives the same text: what a diff of two trees goes by. */
  readonly identity?: (directive: Directive) => string;
  /** Its effect for users, in a sentence or two. */
  readonly doc?: string;
  /** The same for single arguments, by their names in `args`. */
  readonly argDocs?: Readonly<Record<string, string>>;
  /**
   * Changes that the API may make while the server runs. `true`: such directives may come and go, and change. A list: arguments that may
   * change, by their names in `args`. Absent: nothing. Every argument that may change has a text and a JSON form.
   */
  readonly dynamic?: true | readonly string[];
  /** The variables that this very directive creates (`map $a $b`: `b`), by name without the dollar. */
  readonly defines?: (directive: Directive) => readonly string[];
  /** Requests get the values of these variables on their way (`set`): until then they have what another directive computes (`map`). */
  readonly assigns?: true;
  /** Each of these gets a lasting number (`Directive.key`), unique in its block and never used again: members of an upstream. */
  readonly keyed?: true;
  /**
   * Its first argument names a file that holds the directives of this name in the block it is in (`state` of an upstream: `server`). They
   * are read at start and written back when they change; beside it none of them may be in the configuration.
   */
  readonly holds?: string;
}

type ArgValue<A> =
  A extends ArgType<infer T> ? T : A extends ArgRecord ? { readonly [K in keyof A]: A[K] extends ArgType<infer T> ? T : never } : true;
/** The typed value of one line of a directive. */
export type DirectiveValue<S extends DirectiveSpec> = S extends { block: { directives: infer D extends Directives } }
  ? (S['args'] extends ArgRecord ? ArgValue<S['args']> : unknown) & { readonly block: Conf<D> }
  : ArgValue<S['args']>;
/** The arguments of one line of a directive in the JSON of the API. */
export type DirectiveJson<S extends DirectiveSpec> = S['args'] extends ArgRecord
  ? { readonly [K in keyof S['args']]: S['args'][K] extends { readonly json: JsonForm<never, infer J> } ? J : never }
  : never;
/** The typed value of a directive: an array with `many`, never undefined with a default. */
export type ConfValue<S extends DirectiveSpec> = S extends { many: true }
  ? readonly DirectiveValue<S>[]
  : S extends { default: string }
    ? DirectiveValue<S>
    : DirectiveValue<S> | undefined;
/** The typed configuration of a module in one scope, inheritance applied. */
export type Conf<D extends Readonly<Record<string, DirectiveSpec>>> = { readonly [K in keyof D]: ConfValue<D[K]> };
export type Directives = Readonly<Record<string, DirectiveSpec>>;

/** The context of the directives in the block of a directive; undefined: it has no block. */
export function blockContext({ block }: DirectiveSpec): ContextName | 'entries' | undefined {
  return typeof block === 'object' ? block.context : block;
}

/** Keeps the literal types of a spec, so that {@link Conf} can be derived from it. */
export function directive<const S extends DirectiveSpec>(spec: S): S {
  return spec;
}
