/** Sets of one field, which most settings are made of. */
import { readPlainArgument } from '../contract/directive-codec.js';
import { ArgError, type ArgType, type JsonSchema } from '../contract/spec.js';
import type { FieldSet, SettingCall } from '../contract/setting.js';
import type { Directive, NewDirective } from '../contract/tree.js';

/** A field that is the one argument of a directive of the same name: `limit_rate`. Variables in it are shown, and not accepted. */
export function argumentField<T, J>(name: string, type: ArgType<T, J>, doc: string): FieldSet {
  return {
    fields: { [name]: argumentSchema(type, doc) },
    directives: [name],
    read: ([line]) => (line === undefined ? {} : { [name]: shownArgument(type, line.args[0]?.text ?? '') }),
    write: ({ [name]: value }, [line], call) => {
      if (value === null || value === undefined) return [];
      const text = argumentText(type, value as J, `/${name}`, call);
      return text === undefined ? [] : [inPlaceOf(line, { name, words: [text], pointer: `${call.pointer}/${name}` })];
    },
  };
}

/** The schema of an argument. A text with variables fits as well, so that what a response shows can be sent back. */
export function argumentSchema<T, J>({ json: { schema } }: ArgType<T, J>, doc: string): JsonSchema {
  const { pattern } = schema;
  if (typeof pattern !== 'string') return { ...schema, description: doc };
  return { ...schema, pattern: String.raw`${pattern}|\$`, title: doc };
}

/** The schema of an object: fields whose names end in `?` may be absent. */
export function objectSchema(fields: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const names = Object.keys(fields);
  return {
    type: 'object',
    required: names.filter((name) => !name.endsWith('?')),
    properties: Object.fromEntries(names.map((name) => [name.replace('?', ''), fields[name]])),
  };
}

/** The new directive where the old one is, if there is one. */
export function inPlaceOf(
  line: Directive | undefined,
  by: NewDirective,
): NewDirective | { readonly target: Directive; readonly by: NewDirective } {
  return line === undefined ? by : { target: line, by };
}

/** JSON of a text in the API; a text that the type rejects (one with variables) is shown as it is. */
export function shownArgument<T, J>(type: ArgType<T, J>, text: string): J | string {
  try {
    return type.json.show(readPlainArgument(type, text));
  } catch (error) {
    if (error instanceof ArgError) return text;
    throw error;
  }
}

/** The text of a value that fits the schema of the type. Undefined: it was rejected. */
export function argumentText<T, J>(type: ArgType<T, J>, value: J, place: string, call: SettingCall): string | undefined {
  try {
    const text = type.json.text(value);
    readPlainArgument(type, text);
    return text;
  } catch (error) {
    if (!(error instanceof ArgError)) throw error;
    call.reject(place, error.message);
    return undefined;
  }
}

/** A list of which each item is one line. */
export interface ListField<T> {
  /** Name of the field. */
  readonly field: string;
  /** Schema of an item. */
  readonly item: JsonSchema;
  readonly doc: string;
  readonly directives: readonly string[];
  /** Undefined: the field does not show the line, and leaves it alone. */
  readonly show: (line: Directive) => T | undefined;
  /**
   * Undefined: it was rejected.
   * @param place JSON pointer from the block on: `/headers/2`
   */
  readonly line: (item: T, place: string, call: SettingCall) => NewDirective | undefined;
}

/** A list whose lines are replaced as a whole. An item that says what a line says that is there keeps this line. */
export function listField<T>({ field, item, doc, directives, show, line }: ListField<T>): FieldSet {
  return {
    fields: { [field]: { type: 'array', items: item, description: doc } },
    directives,
    read: (lines) => {
      const shown = lines.flatMap((one) => show(one) ?? []);
      return shown.length === 0 ? {} : { [field]: shown };
    },
    write: ({ [field]: value }, lines, call) => {
      const items = (value ?? []) as readonly T[];
      const known = new KnownLines(lines, show);
      const wanted = items.flatMap((one, i) => known.take(one) ?? line(one, `/${field}/${i}`, call) ?? []);
      return [...lines.filter((one) => show(one) === undefined), ...wanted];
    },
  };
}

/** Lines by what they are shown as: an item that says the same as one of them is that line, however it is written. */
export class KnownLines<T> {
  readonly #lines: Map<string, Directive[]>;

  constructor(lines: readonly Directive[], show: (line: Directive) => T | undefined) {
    this.#lines = Map.groupBy(lines, (line) => textOf(show(line)));
  }

  /** The first line with this meaning that is not used yet. */
  take(item: T): Directive | undefined {
    return this.#lines.get(textOf(item))?.shift();
  }
}

/** The same for equal values, whatever the order of their fields. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

/** True if two JSON values are the same. */
export function sameJson(one: unknown, other: unknown): boolean {
  return one === other || textOf(one) === textOf(other);
}
