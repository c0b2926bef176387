/** Checks what callers send against the schemas of routes, and tells everything that is wrong at once. */
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import type { TLocalizedValidationError } from 'typebox/error';
import { Settings } from 'typebox/system';
import { ApiError } from '../module/control.js';

/** One thing that is wrong: a JSON pointer into the body, or `?name` for a query parameter. */
export interface Fault {
  readonly pointer: string;
  readonly message: string;
}

export function invalidFields(faults: readonly Fault[]): ApiError {
  const [first] = faults;
  const more = faults.length > 1 ? ` (and ${faults.length >= MOST_FAULTS ? 'many' : faults.length - 1} more)` : '';
  return new ApiError(400, 'InvalidField', `${first?.pointer || 'the body'}: ${first?.message ?? ''}${more}`, faults);
}

/** More mistakes than a person reads; without the setting typebox stops after 8. */
const MOST_FAULTS = 200;

type Json = Readonly<Record<string, unknown>>;

/** A schema that refuses fields it does not name, and takes numbers that are written as text. */
export class StrictSchema {
  readonly json: Json;
  readonly #validator: ReturnType<typeof Compile>;

  constructor(schema: TSchema) {
    Settings.Set({ maxErrors: MOST_FAULTS });
    this.json = strict(schema);
    this.#validator = Compile(this.json as TSchema);
  }

  /** The value with numeric texts as numbers, or what is wrong with it. */
  read(value: unknown): { readonly value: unknown } | { readonly faults: readonly Fault[] } {
    const converted = withNumbers(this.json, value);
    if (this.#validator.Check(converted)) return { value: converted };
    return { faults: this.#validator.Errors(converted).flatMap((error) => this.#faults(error)) };
  }

  #faults(error: TLocalizedValidationError): Fault[] {
    const { keyword, schemaPath, instancePath, message } = error;
    if (schemaPath.endsWith('/additionalProperties')) return [{ pointer: instancePath, message: 'unknown field' }];
    // Its fields are reported one by one, see above.
    if (keyword === 'additionalProperties') return [];
    if (keyword === 'required')
      return error.params.requiredProperties.map((name) => ({ pointer: `${instancePath}/${escaped(name)}`, message: 'is required' }));
    if (keyword === 'enum')
      return [{ pointer: instancePath, message: `must be one of ${error.params.allowedValues.map(String).join(', ')}` }];
    const { description, pattern } = at(this.json, schemaPath);
    // What has a form says in its description what that is, in words that follow "must be".
    const told = pattern !== undefined && typeof description === 'string' ? `must be ${description}` : message;
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

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const NUMBER = /^-?\d{1,15}(\.\d{1,15})?$/;

/** Callers send `"3"` for 3, as forms and shell scripts do. */
function withNumbers(schema: unknown, value: unknown): unknown {
  if (!isObject(schema)) return value;
  const { type, properties, items } = schema;
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

/** The part of a schema that a path such as `#/items/properties/weight` leads to. */
function at(schema: Json, path: string): Json {
  let part: unknown = schema;
  for (const step of path.split('/').slice(1)) part = isObject(part) ? part[step.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined;
  return isObject(part) ? part : {};
}

const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');
