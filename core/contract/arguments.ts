/** Gives the words of a directive to the argument types of its spec. Validation and the typed configuration both read them here. */
import { ArgError, type AnyArgContext, type ArgContext, type ArgType, type DirectiveSpec } from './spec.js';
import { nearest } from './suggest.js';
import type { Word, Written } from './tree.js';

/** Called for every word that is rejected; reading goes on. Without a word the directive as a whole is meant. */
export type RejectArgument = (message: string, word?: Word, hint?: string) => void;

interface Field {
  readonly name: string;
  readonly type: ArgType<unknown>;
}

/** The `args` of a spec, sorted by the way they consume words. Made once for a spec. */
export class Signature {
  readonly required: readonly Field[];
  readonly optional: readonly Field[];
  readonly rest: Field | undefined;
  /** Words and `key=value` parameters by their key. */
  readonly words: ReadonlyMap<string, Field>;
  readonly params: ReadonlyMap<string, Field>;
  /** Keys of parameters that have to be there. */
  readonly requiredParams: readonly string[];
  /** The value is that of the one argument, not an object. */
  readonly single: boolean;
  readonly fields: readonly Field[];
  /** The values of absent arguments, in the order of the spec, so that all values of a spec have one shape. */
  readonly absent: Readonly<Record<string, unknown>>;
  /** The directive has a block. */
  readonly block: boolean;

  constructor({ args, block }: DirectiveSpec) {
    this.block = block !== undefined;
    this.single = isArgType(args);
    this.fields = isArgType(args) ? [{ name: '', type: args }] : Object.entries(args ?? {}).map(([name, type]) => ({ name, type }));
    this.required = this.fields.filter(({ type }) => !['optional', 'rest', 'word', 'param'].includes(type.kind));
    this.optional = this.fields.filter(({ type }) => type.kind === 'optional');
    this.rest = this.fields.find(({ type }) => type.kind === 'rest');
    this.words = byKey(this.fields.filter(({ type }) => type.kind === 'word' || type.mayBeBare === true));
    this.params = byKey(this.fields.filter(({ type }) => type.kind === 'param'));
    this.requiredParams = [...this.params].flatMap(([key, { type }]) => (type.required ? [key] : []));
    this.absent = Object.fromEntries(this.fields.map(({ name, type }) => [name, type.absent]));
  }

  /** False if this number of words is too small or too large, whatever they are. */
  allows(count: number): boolean {
    const { required, optional, rest, words, params, requiredParams } = this;
    if (count < required.length + requiredParams.length + (rest?.type.least ?? 0)) return false;
    return rest !== undefined || words.size + params.size > 0 || count <= required.length + optional.length;
  }

  /** The parameter or word that this text is, if any. */
  keyed(text: string): Field | undefined {
    const word = this.words.get(text);
    if (word !== undefined || this.params.size === 0) return word;
    const equals = text.indexOf('=');
    return equals < 0 ? undefined : this.params.get(text.slice(0, equals));
  }
}

export function isArgType(args: DirectiveSpec['args']): args is ArgType<unknown> {
  return args !== undefined && typeof args.parse === 'function';
}

function byKey(fields: readonly Field[]): ReadonlyMap<string, Field> {
  return new Map(fields.map((field) => [field.type.key ?? field.name, field]));
}

/** The value of one directive as its spec types it. When something is rejected the value is not to be used. */
export function readArguments(signature: Signature, directive: Written, context: AnyArgContext, reject: RejectArgument): unknown {
  return new ArgumentReader(signature, directive, context, reject).read();
}

class ArgumentReader {
  private readonly values: Record<string, unknown>;
  private restValues: unknown[] | undefined;
  private nextOptional = 0;

  constructor(
    private readonly signature: Signature,
    private readonly directive: Written,
    private readonly context: AnyArgContext,
    private readonly reject: RejectArgument,
  ) {
    this.values = { ...signature.absent };
  }

  read(): unknown {
    const { signature, values } = this;
    const { args } = this.directive;
    if (!signature.allows(args.length) || !this.readAll(args)) {
      this.rejectCount();
      return undefined;
    }
    if (signature.requiredParams.length > 0) this.assertRequired();
    if (signature.single) return values[''];
    return signature.fields.length === 0 ? true : values;
  }

  /** False if too few words are left for the rest, some of them being parameters. */
  private readAll(args: readonly Word[]): boolean {
    const { required, rest } = this.signature;
    for (let i = 0; i < args.length; i++) {
      const word = args[i] as Word;
      const field = required[i];
      if (field === undefined) this.readFurther(word);
      else this.values[field.name] = this.parse(field.type, word);
    }
    if (rest === undefined) return true;
    const { restValues } = this;
    if (restValues !== undefined) this.values[rest.name] = restValues;
    return (restValues?.length ?? 0) >= (rest.type.least ?? 0);
  }

  private readFurther(word: Word): void {
    const { optional, rest } = this.signature;
    const field = this.signature.keyed(word.text) ?? optional[this.nextOptional];
    if (field !== undefined) {
      if (field.type.kind === 'optional') this.nextOptional++;
      this.values[field.name] = this.parse(field.type, word);
    } else if (rest === undefined) {
      this.reject(`invalid parameter "${word.text}"`, word, parameterHint(word.text, this.signature));
    } else {
      if (rest.type.of?.kind === 'choice') this.warnOfRepetition(word);
      const value = this.parse(rest.type, word);
      (this.restValues ??= []).push(...(Array.isArray(value) ? (value as unknown[]) : [undefined]));
    }
  }

  /** A parameter that is there is in `args`; its value may be undefined because it was rejected. */
  private assertRequired(): void {
    const { name, args } = this.directive;
    for (const key of this.signature.requiredParams)
      if (!args.some(({ text }) => text.startsWith(`${key}=`)))
        this.reject(`"${name}" must have "${key}" parameter`, undefined, `syntax: ${synopsis(name, this.signature)}`);
  }

  private warnOfRepetition(word: Word): void {
    const first = this.directive.args.find(({ text }) => text.toLowerCase() === word.text.toLowerCase());
    if (first !== word) this.context.warn?.(`duplicate value "${word.text}"`);
  }

  private parse(type: ArgType<unknown>, word: Word): unknown {
    const text = type.kind === 'param' ? parameterText(type, word.text) : word.text;
    try {
      // Its result is for requests of the context's engine.
      return type.parse(text, this.context as ArgContext, word.text);
    } catch (error) {
      if (!(error instanceof ArgError)) throw error;
      for (const reason of [error, ...error.further])
        this.reject(rejection(this.directive.name, type, word, reason), word, hintOf(type, reason));
      return undefined;
    }
  }

  private rejectCount(): void {
    const { name } = this.directive;
    this.reject(`invalid number of arguments in "${name}" directive`, undefined, `syntax: ${synopsis(name, this.signature)}`);
  }
}

function parameterText({ key, mayBeBare }: ArgType<unknown>, word: string): string {
  return mayBeBare === true && word === key ? '' : word.slice(word.indexOf('=') + 1);
}

function parameterHint(text: string, { words, params }: Signature): string {
  const [key = '', value] = text.split('=', 2);
  const meant = value === undefined ? nearest(key, words.keys()) : nearest(key, params.keys());
  if (meant !== undefined) return `did you mean "${meant}${value === undefined ? '' : '='}"?`;
  const forms = [...params.values(), ...words.values()].map(({ type }) => type.form.replace(/^\[(?<form>.*)\]$/s, '$<form>'));
  return `accepted: ${forms.join(', ')}`;
}

/** The messages of the argument types themselves, which know neither the directive nor that they are in a parameter. */
const MALFORMED = /^invalid (?:value|number) "/;
const OUT_OF_RANGE = /^value ".*" (?=must be)/s;

/** The message that nginx has for this kind of argument. */
function rejection(directive: string, type: ArgType<unknown>, word: Word, { message }: ArgError): string {
  const outOfRange = OUT_OF_RANGE.test(message);
  if (!outOfRange && !MALFORMED.test(message)) return message;
  if (type.kind === 'param') return `invalid parameter "${word.text}"`;
  if (outOfRange) return message.replace(OUT_OF_RANGE, 'value ');

  const { kind } = valueType(type);
  if (kind === 'flag') return `invalid value "${word.text}" in "${directive}" directive, it must be "on" or "off"`;
  if (kind === 'number') return `"${directive}" directive invalid number`;
  return kind === 'size' || kind === 'time' ? `"${directive}" directive invalid value` : message;
}

function hintOf(type: ArgType<unknown>, { message, hint }: ArgError): string | undefined {
  if (type.kind === 'param' && OUT_OF_RANGE.test(message)) return message.replace(OUT_OF_RANGE, 'the value ');
  if (!MALFORMED.test(message)) return hint;
  const { kind } = valueType(type);
  if (kind === 'flag' && type.kind !== 'param') return undefined;
  return hint ?? (kind === 'number' ? 'a whole number is expected' : undefined);
}

function valueType(type: ArgType<unknown>): ArgType<unknown> {
  return type.of ?? type;
}

/** The form of an argument type that says nothing; the name of the field says more. */
const UNNAMED = /(?<=^\[?)(?:text|string)(?=\]?$)/;

/** How the directive is written: `proxy_pass string;`. */
export function synopsis(name: string, { fields, block }: Signature): string {
  const forms = fields.map(({ name, type }) => (name === '' ? type.form : type.form.replace(UNNAMED, name)));
  return `${[name, ...forms].join(' ')}${block ? ' { ... }' : ';'}`;
}
