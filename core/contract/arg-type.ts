import type { ArgType, JsonForm } from './spec.js';

/** Definition of an argument type. */
interface Definition<T> {
  readonly kind: ArgType<T>['kind'];
  readonly form: string;
  readonly parse: ArgType<T>['parse'];
  /** Absent: the text that the value was parsed from; of a number, a string or a boolean itself. */
  readonly print?: (value: T) => string;
  /** Absent: the same text. */
  readonly json?: JsonForm<T, string>;
}

/**
 * An argument type whose values can be written, and shown by the API. Objects and functions that `parse` makes have the text that they were
 * made of remembered beside them, so that a compiled expression needs no field for it.
 */
export function argType<T>({ kind, form, parse, print, json }: Definition<T>): ArgType<T, string> {
  const texts = new WeakMap<object, string>();
  const textOf = (value: T): string => (isObject(value) ? (texts.get(value) ?? '') : String(value));
  const write = print ?? textOf;
  return {
    kind,
    form,
    parse(text, context, written) {
      const value = parse(text, context, written);
      if (print === undefined && isObject(value)) texts.set(value, text);
      return value;
    },
    print: write,
    json: json ?? { schema: { type: 'string', description: form }, show: write, text: (shown) => shown },
  };
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}
