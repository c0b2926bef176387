/** Reads and writes the directives of one spec: as text of the configuration, and as JSON of the API. */
import { readArguments, Signature } from './arguments.js';
import { ApiError } from './control.js';
import { ArgError, type ArgContext, type ArgType, type DirectiveJson, type DirectiveSpec, type DirectiveValue } from './spec.js';
import type { Written } from './tree.js';
import { directiveText } from './words.js';

type Values = Readonly<Record<string, unknown>>;

/** The typed value of a directive where nothing is compiled: templates are only their source. Undefined if the spec rejects it. */
export function readPlain(spec: DirectiveSpec, directive: Written): unknown {
  let isRejected = false;
  const value = readArguments(new Signature(spec), directive, PLAIN, () => (isRejected = true));
  return isRejected ? undefined : value;
}

/** The value of one text where nothing is compiled, and where it must not have variables. @throws ArgError */
export function readPlainArgument<T, J>(type: ArgType<T, J>, text: string): T {
  if (text.includes('$')) throw new ArgError(`variables are not supported in "${text}"`);
  return type.parse(text, PLAIN);
}

/**
 * Where nothing is compiled: paths stay as they are written, and templates are only their source.
 */
const PLAIN: ArgContext = {
  template: (text) => ({
    source: Buffer.from(text).latin1Slice(),
    constant: undefined,
    of: () => {
      throw new Error('this template is not compiled');
    },
  }),
  parts: (text) => [text],
  path: (text) => text,
};

/**
 * ```ts
 * const servers = new DirectiveCodec('server', upstreamDirectives.server);
 * const line = servers.read(directive);                    // { server: '10.0.0.1:80', weight: 1, … }
 * servers.show(line);                                      // { server: '10.0.0.1:80', weight: 1, fail_timeout: '10s', … }
 * servers.print(servers.merge(line, { weight: 5 }));       // 'server 10.0.0.1:80 weight=5;'
 * ```
 * For specs whose `args` is a record.
 */
export class DirectiveCodec<const S extends DirectiveSpec> {
  readonly #signature: Signature;

  constructor(
    readonly name: string,
    readonly spec: S,
  ) {
    this.#signature = new Signature(spec);
    if (this.#signature.single || spec.block !== undefined) throw new Error(`directive "${name}" has no record of arguments`);
  }

  /** The value of an active directive. @throws Error if the spec rejects it */
  read(directive: Written): DirectiveValue<S> {
    return readArguments(this.#signature, directive, PLAIN, (message) => {
      throw new Error(message);
    }) as DirectiveValue<S>;
  }

  /**
   * The directive as text. Arguments with their default are left out, so that equal values have one text.
   * @throws ArgError if an argument would be read as another one
   */
  print(value: DirectiveValue<S>): string {
    return directiveText(this.name, this.#words(value as Values));
  }

  /** True if both mean the same, however they are written. */
  areSame(one: DirectiveValue<S>, other: DirectiveValue<S>): boolean {
    const sameValues = this.#signature.fields.every(({ name }) => (one as Values)[name] === (other as Values)[name]);
    return sameValues || this.print(one) === this.print(other);
  }

  /** All arguments as the API shows them. */
  show(value: DirectiveValue<S>): DirectiveJson<S> {
    const json: Record<string, unknown> = {};
    for (const { name, type } of this.#signature.fields) {
      const shown = showArgument(type, (value as Values)[name]);
      if (shown !== undefined) json[name] = shown;
    }
    return json as DirectiveJson<S>;
  }

  /**
   * The value with some arguments as the API was sent them: they fit the schema.
   * @throws ApiError 400 `InvalidField` with every argument that its type rejects
   */
  merge(value: DirectiveValue<S>, json: Partial<DirectiveJson<S>>): DirectiveValue<S> {
    const merged: Record<string, unknown> = { ...(value as Values) };
    const details: { pointer: string; message: string }[] = [];
    for (const { name, type } of this.#signature.fields) {
      const field = (json as Values)[name];
      if (field === undefined) continue;
      try {
        merged[name] = parseArgument(type, field);
      } catch (error) {
        if (!(error instanceof ArgError)) throw error;
        details.push({ pointer: `/${name}`, message: error.message });
      }
    }
    const [first, ...others] = details;
    if (first === undefined) return merged as DirectiveValue<S>;
    const more = others.length > 0 ? ` (and ${others.length} more)` : '';
    throw new ApiError(400, 'InvalidField', `${first.pointer}: ${first.message}${more}`, details);
  }

  /** A new value: arguments that are not there have their default. @throws ApiError as {@link merge} */
  create(json: Partial<DirectiveJson<S>>): DirectiveValue<S> {
    return this.merge(this.#signature.absent as DirectiveValue<S>, json);
  }

  /** In the order of the spec. Optional ones are there as far as the last of them that is not the default. */
  #words(values: Values): string[] {
    const { fields, optional } = this.#signature;
    const given = optional.findLastIndex(({ name, type }) => differs(type, values[name]));
    return fields.flatMap(({ name, type }) => {
      const value = values[name];
      if (type.kind === 'optional') return optional.findIndex((field) => field.name === name) <= given ? [this.#free(type, value)] : [];
      if (type.kind === 'rest') return (value as readonly unknown[]).map((item) => this.#free(type, item));
      if (type.kind === 'word') return value === true ? [type.key ?? name] : [];
      if (type.kind !== 'param') return [printValue(type, value)];
      return type.required === true || differs(type, value) ? [parameterWord(type, printValue(type, value))] : [];
    });
  }

  /** A word that differs from the words and parameters by its text alone. */
  #free(type: ArgType<unknown>, value: unknown): string {
    const text = printValue(type, value);
    if (this.#signature.keyed(text) !== undefined) throw new ArgError(`"${text}" would be read as a parameter of "${this.name}"`);
    return text;
  }
}

function differs(type: ArgType<unknown>, value: unknown): boolean {
  if (value === undefined || value === type.absent) return false;
  return type.absent === undefined || printValue(type, value) !== printValue(type, type.absent);
}

function printValue(type: ArgType<unknown>, value: unknown): string {
  return (type.of ?? type).print(value);
}

function parameterWord({ key = '', mayBeBare }: ArgType<unknown>, text: string): string {
  return mayBeBare === true && text === '' ? key : `${key}=${text}`;
}

function formOf(type: ArgType<unknown>): ArgType<unknown>['json'] {
  return (type.of ?? type).json;
}

function showArgument(type: ArgType<unknown>, value: unknown): unknown {
  const form = formOf(type);
  if (type.kind === 'rest') return (value as readonly unknown[]).map((item) => form.show(item));
  return value === undefined ? undefined : form.show(value);
}

/** By the rules of the configuration, so that there is one reading. @throws ArgError */
function parseArgument(type: ArgType<unknown>, json: unknown): unknown {
  if (type.kind === 'word') return json === true;
  const form = formOf(type);
  const parse = (item: unknown): unknown => (type.of ?? type).parse(form.text(item), PLAIN);
  return type.kind === 'rest' ? (json as readonly unknown[]).map(parse) : parse(json);
}
