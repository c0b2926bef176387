/** Checks the input of calls against the schemas of routes; reports all errors at once. */
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import type { TLocalizedValidationError } from 'typebox/error';
import { Settings } from 'typebox/system';
import { ApiError } from '../contract/control.js';
import { Excerpt, isObject, type Json } from './excerpt.js';

/** One error: a JSON pointer into the body, or `?name` for a query parameter. */
export interface FieldError {
  readonly pointer: string;
  readonly message: string;
}

export function invalidFields(errors: readonly FieldError[]): ApiError {
  const [first] = errors;
  const more = errors.length > 1 ? ` (and ${errors.length >= MOST_ERRORS ? 'many' : errors.length - 1} more)` : '';
  return new ApiError(400, 'InvalidField', `${first?.pointer || 'the body'}: ${first?.message ?? ''}${more}`, errors);
}

/** More errors than a person reads; without the setting typebox stops after 8. */
const MOST_ERRORS = 200;

/** A schema that rejects fields it does not name, and accepts numbers written as text. */
export class StrictSchema {
  readonly json: Json;
  readonly #validator: ReturnType<typeof Compile>;

  constructor(schema: TSchema) {
    Settings.Set({ maxErrors: MOST_ERRORS });
    this.json = strict(schema);
    this.#validator = Compile(this.json as TSchema);
  }

  /** The value with numeric texts as numbers, or its errors. */
  read(value: unknown): { readonly value: unknown } | { readonly errors: readonly FieldError[] } {
    const converted = withNumbers(this.json, value);
    if (this.#validator.Check(converted)) return { value: converted };
    const excerpt = new Excerpt(this.json, converted, MOST_ERRORS);
    const errors = this.#validator.Errors(excerpt.value).flatMap((error) => this.#errorsOf(error));
    return { errors: errors.slice(0, MOST_ERRORS).map(({ pointer, message }) => ({ pointer: excerpt.pointerOf(pointer), message })) };
  }

  #errorsOf(error: TLocalizedValidationError): FieldError[] {
    const { keyword, schemaPath, instancePath, message } = error;
    if (schemaPath.endsWith('/additionalProperties')) return [{ pointer: instancePath, message: 'unknown field' }];
    // Its fields are reported one by one, see above.
    if (keyword === 'additionalProperties') return [];
    if (keyword === 'required')
      return error.params.requiredProperties.map((name) => ({ pointer: `${instancePath}/${escaped(name)}`, message: 'is required' }));
    if (keyword === 'enum')
      return [
        {
          pointer: instancePath,
          message: `must be one of ${error.params.allowedValues
            .map(String)
            .filter((value) => value !== '')
            .join(', ')}`,
        },
      ];
    const { description, pattern, 'x-form': form = description } = at(this.json, schemaPath);
    // A type with a form describes it in words that follow "must be": in a field of its own, where the description differs.
    const told = pattern !== undefined && typeof form === 'string' ? `must be ${form}` : message;
    return [{ pointer: instancePath, message: told }];
  }
}

/** As plain JSON Schema; an object knows only the fields it names, unless it says otherwise. */
function strict(schema: TSchema): Json {
  return JSON.parse(JSON.stringify(schema), (_, value: unknown) =>
    isObject(value) && value['type'] === 'object' && isObject(value['properties']) && !('additionalProperties' in value)
      ? { ...value, additionalProperties: false }
      : value,
  ) as Json;
}

const NUMBER = /^-?\d{1,15}(\.\d{1,15})?$/;

/** Callers send `"3"` for 3, as forms and shell scripts do. */
function withNumbers(schema: unknown, value: unknown): unknown {
  if (!isObject(schema)) return value;
  const { properties, items } = schema;
  const type = mainType(schema);
  if ((type === 'integer' || type === 'number') && typeof value === 'string' && NUMBER.test(value)) return Number(value);
  if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
  if (type === 'array' && Array.isArray(value)) return value.map((entry) => withNumbers(items, entry));
  if (type !== 'object' || !isObject(properties) || !isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => [
      name,
      withNumbers(Object.hasOwn(properties, name) ? properties[name] : undefined, entry),
    ]),
  );
}

/** The type beside which `null` may be allowed. */
function mainType({ type }: Json): unknown {
  const [first, second, ...others] = Array.isArray(type) ? (type as unknown[]) : [type];
  return others.length === 0 && (second === undefined || second === 'null') ? first : undefined;
}

/** The part of a schema that a path such as `#/items/properties/weight` leads to. */
function at(schema: Json, path: string): Json {
  let part: unknown = schema;
  for (const step of path.split('/').slice(1)) part = isObject(part) ? part[step.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined;
  return isObject(part) ? part : {};
}

const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');
