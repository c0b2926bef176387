/** Reads what a call brings with it: body, query, headers. Everything that is wrong is told at once. */
import { ApiError } from '../module/control.js';
import type { ApiCall } from './api-call.js';
import { jsonMistakeAt } from './json-position.js';
import { parseQuery } from './query.js';
import type { Route } from './route-table.js';
import { invalidFields, type Fault } from './schema.js';

export const BODY_LIMIT = 5 * 1024 * 1024;

/** How a query says yes and no: `?dry_run` and `?dry_run=` are a yes. */
const YES = ['1', 'true', ''];
const NO = ['0', 'false'];
export const FLAG_VALUES: readonly string[] = [...YES, ...NO];

export interface Input {
  readonly body: unknown;
  readonly query: unknown;
  readonly dryRun: boolean;
  /** Fields the answer is to have; undefined: all. */
  readonly fields: readonly string[] | undefined;
}

/** @throws ApiError 400, 413, 415 */
export async function readInput(call: ApiCall, route: Route): Promise<Input> {
  const faults: Fault[] = [];
  const parameters = parseQuery(call.query, faults);
  const dryRun = route.verb !== 'GET' && takeFlag(parameters, 'dry_run', faults);
  const fields = route.verb === 'GET' ? takeFields(parameters, route, faults) : undefined;
  const query = readQuery(parameters, route, faults);
  const body = route.body && readBody(route.body, await parseBody(call), faults);
  if (faults.length > 0) throw invalidFields(faults);
  return { body, query, dryRun, fields };
}

function takeFlag(parameters: Map<string, string>, name: string, faults: Fault[]): boolean {
  const value = parameters.get(name);
  parameters.delete(name);
  if (value === undefined || NO.includes(value)) return false;
  if (!YES.includes(value)) faults.push({ pointer: `?${name}`, message: 'must be 0 or 1' });
  return true;
}

function takeFields(parameters: Map<string, string>, route: Route, faults: Fault[]): string[] | undefined {
  const value = parameters.get('fields');
  parameters.delete('fields');
  if (value === undefined || value === '') return undefined;
  const fields = value.split(',').filter((name) => name !== '');
  const known = fieldsOf(route.schemas.answers[200]);
  for (const name of fields)
    if (known !== undefined && !known.has(name)) faults.push({ pointer: '?fields', message: `unknown field "${name}"` });
  return fields;
}

/** Fields of an answer, or of its entries if it is an array. */
function fieldsOf(schema: unknown): ReadonlySet<string> | undefined {
  if (Array.isArray(schema)) return schema.map(fieldsOf).find((fields) => fields !== undefined);
  const { type, items, properties } = (schema ?? {}) as { type?: string; items?: unknown; properties?: object };
  if (type === 'array') return fieldsOf(items);
  return properties && new Set(Object.keys(properties));
}

function readQuery(parameters: Map<string, string>, route: Route, faults: Fault[]): unknown {
  if (route.query === undefined) {
    for (const name of parameters.keys()) faults.push({ pointer: `?${name}`, message: 'unknown parameter' });
    return {};
  }
  const read = route.query.read(Object.fromEntries(parameters));
  if ('value' in read) return read.value;
  // What could not be taken as it came is not missing as well.
  const told = new Set(faults.map((fault) => fault.pointer));
  const more = read.faults.map(({ pointer, message }) => ({
    pointer: `?${pointer.slice(1)}`,
    message: message === 'unknown field' ? 'unknown parameter' : message,
  }));
  faults.push(...more.filter(({ pointer }) => !told.has(pointer)));
  return {};
}

function readBody(schema: NonNullable<Route['body']>, value: unknown, faults: Fault[]): unknown {
  const read = schema.read(value);
  if ('faults' in read) {
    faults.push(...read.faults);
    return undefined;
  }
  // An escape such as \ud800 can bring half of a character in, which would be kept as another one.
  for (const pointer of brokenTexts(read.value, '')) faults.push({ pointer, message: 'must be whole characters' });
  return read.value;
}

function brokenTexts(value: unknown, pointer: string): string[] {
  if (typeof value === 'string') return value.isWellFormed() ? [] : [pointer];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, entry]) => brokenTexts(entry, `${pointer}/${name}`));
}

async function parseBody(call: ApiCall): Promise<unknown> {
  const bytes = await call.body(BODY_LIMIT);
  if (bytes.length === 0) throw new ApiError(400, 'JsonError', 'a JSON body is needed, it is empty');
  assertJson(call.header('content-type'));
  return parseJson(bytes);
}

function assertJson(type: string | undefined): void {
  const [media = '', ...parameters] = (type ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const charset = parameters
    .find((parameter) => parameter.startsWith('charset='))
    ?.slice('charset='.length)
    .replaceAll('"', '');
  if (media !== 'application/json' || (charset !== undefined && charset !== 'utf-8')) {
    throw new ApiError(415, 'UnsupportedMediaType', 'the body must be application/json in UTF-8');
  }
}

function parseJson(bytes: Buffer): unknown {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new ApiError(400, 'JsonError', 'the body is not UTF-8');
  }
  try {
    return JSON.parse(text);
  } catch {
    throw jsonError(text, jsonMistakeAt(text));
  }
}

function jsonError(text: string, position: number): ApiError {
  const before = text.slice(0, position).split('\n');
  const place = { position, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
  return new ApiError(400, 'JsonError', `the body is not JSON: mistake in line ${place.line}, column ${place.column}`, [place]);
}
