/** Reads the input of a call: body, query, headers. All errors are reported at once. */
import { ApiError, type RouteSchemas } from '../contract/control.js';
import type { ApiCall } from './api-call.js';
import { readChangeMessage } from './change-message.js';
import { parseJson } from './json-body.js';
import { parseQuery } from './query.js';
import type { Route } from './route-table.js';
import { invalidFields, type FieldError } from './schema.js';

/** Bytes of a body, where the route does not allow more. */
const BODY_LIMIT = 5 * 1024 * 1024;

/** How a query says yes and no: `?dry_run` and `?dry_run=` are a yes. */
const YES = ['1', 'true', ''];
const NO = ['0', 'false'];
export const FLAG_VALUES: readonly string[] = [...YES, ...NO];

/** Longest wait for all nodes. Seconds. */
const LONGEST_WAIT = 60;

type Parameters = Map<string, string | string[]>;

export interface Input {
  readonly body: unknown;
  readonly query: unknown;
  readonly dryRun: boolean;
  /** `Prefer: return=minimal` on a write. */
  readonly minimal: boolean;
  /** `Prefer: wait=N` on a write. Seconds; 0: not given. */
  readonly wait: number;
  /** Fields of the response; undefined: all. */
  readonly fields: readonly string[] | undefined;
  /** `Change-Message` of a write. */
  readonly message: string | undefined;
}

/** @throws ApiError 400, 413, 415 */
export async function readInput(call: ApiCall, route: Route): Promise<Input> {
  const errors: FieldError[] = [];
  const parameters = parseQuery(call.query, errors, listsIn(route));
  const isWrite = route.verb !== 'GET';
  const dryRun = isWrite && takeDryRun(parameters, route, errors);
  const fields = isWrite || route.schemas.selects === true ? undefined : takeFields(parameters, route, errors);
  const query = readQuery(parameters, route, errors);
  const message = isWrite ? readChangeMessage(call.header('change-message'), errors) : undefined;
  const sent = route.body && (await receiveBody(call, route.schemas));
  const body = route.body && readBody(route.body, sent, errors);
  throwIfAny(errors, sent === undefined ? [] : (route.schemas.check?.(sent) ?? []));
  const prefer = isWrite ? call.header('prefer') : undefined;
  return { body, query, dryRun, minimal: prefersMinimal(prefer), wait: waitOf(prefer), fields, message };
}

/** @param more errors of the body that its schema cannot name */
function throwIfAny(errors: readonly FieldError[], more: readonly ApiError[]): void {
  const reported = new Set(errors.map(({ pointer }) => pointer));
  const details = more.flatMap((error) => error.details as readonly FieldError[]).filter(({ pointer }) => !reported.has(pointer));
  if (errors.length > 0) throw invalidFields([...errors, ...details]);
  const [first, ...others] = more;
  if (first === undefined) return;
  const text = others.length > 0 ? `${first.message} (and ${others.length} more)` : first.message;
  throw new ApiError(first.status, first.code, text, details);
}

/** RFC 7240, 4.2. */
function prefersMinimal(prefer = ''): boolean {
  return prefer.split(/[,;]/).some((preference) => /^return="?minimal"?$/i.test(preference.trim()));
}

/** RFC 7240, 4.3. */
function waitOf(prefer = ''): number {
  const waits = prefer.split(/[,;]/).map((preference) => /^wait="?(\d{1,4})"?$/i.exec(preference.trim())?.[1] ?? 0);
  return Math.min(LONGEST_WAIT, Math.max(...waits.map(Number)));
}

function takeDryRun(parameters: Parameters, { schemas }: Route, errors: FieldError[]): boolean {
  const value = wordOf(parameters, 'dry_run');
  parameters.delete('dry_run');
  if (value === undefined || NO.includes(value)) return false;
  if (!YES.includes(value)) errors.push({ pointer: '?dry_run', message: 'must be 0 or 1' });
  else if (schemas.dryRun !== true) errors.push({ pointer: '?dry_run', message: 'not supported by this call' });
  return true;
}

function takeFields(parameters: Parameters, route: Route, errors: FieldError[]): string[] | undefined {
  const value = wordOf(parameters, 'fields');
  parameters.delete('fields');
  if (value === undefined || value === '') return undefined;
  const fields = value.split(',').filter((name) => name !== '');
  const known = fieldsOf(route.schemas.responses[200]);
  for (const name of fields)
    if (known !== undefined && !known.has(name)) errors.push({ pointer: '?fields', message: `unknown field "${name}"` });
  return fields;
}

/** A parameter other than a list. */
function wordOf(parameters: Parameters, name: string): string | undefined {
  const value = parameters.get(name);
  return typeof value === 'string' ? value : undefined;
}

/** Parameters of a route that may be given several times: its schema says that they are arrays. */
function listsIn({ query }: Route): ReadonlySet<string> {
  const { properties = {} } = (query?.json ?? {}) as { properties?: Readonly<Record<string, { readonly type?: string }>> };
  return new Set(Object.keys(properties).filter((name) => properties[name]?.type === 'array'));
}

/** Fields of a response, or of its entries if it is an array. */
function fieldsOf(schema: unknown): ReadonlySet<string> | undefined {
  if (Array.isArray(schema)) return schema.map(fieldsOf).find((fields) => fields !== undefined);
  const { type, items, properties } = (schema ?? {}) as { type?: string; items?: unknown; properties?: object };
  if (type === 'array') return fieldsOf(items);
  return properties && new Set(Object.keys(properties));
}

function readQuery(parameters: Parameters, route: Route, errors: FieldError[]): unknown {
  if (route.query === undefined) {
    for (const name of parameters.keys()) errors.push({ pointer: `?${name}`, message: 'unknown parameter' });
    return {};
  }
  const read = route.query.read(Object.fromEntries(parameters));
  if ('value' in read) return read.value;
  // A parameter that could not be parsed is not missing as well.
  const reported = new Set(errors.map(({ pointer }) => pointer));
  const more = read.errors.map(({ pointer, message }) => ({
    pointer: `?${pointer.slice(1)}`,
    message: message === 'unknown field' ? 'unknown parameter' : message,
  }));
  errors.push(...more.filter(({ pointer }) => !reported.has(pointer)));
  return {};
}

function readBody(schema: NonNullable<Route['body']>, value: unknown, errors: FieldError[]): unknown {
  const read = schema.read(value);
  if ('errors' in read) {
    errors.push(...read.errors);
    return undefined;
  }
  // An escape such as \ud800 can bring half of a character in, which would be stored as another one.
  for (const pointer of brokenTexts(read.value, '')) errors.push({ pointer, message: 'must be valid Unicode' });
  return read.value;
}

function brokenTexts(value: unknown, pointer: string): string[] {
  if (typeof value === 'string') return value.isWellFormed() ? [] : [pointer];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, entry]) => brokenTexts(entry, `${pointer}/${name}`));
}

async function receiveBody(call: ApiCall, { maxBody = BODY_LIMIT, anyMediaType = false }: RouteSchemas): Promise<unknown> {
  const bytes = await call.body(maxBody);
  if (bytes.length === 0) throw new ApiError(400, 'JsonError', 'the body is empty, a JSON body is required');
  if (!anyMediaType) assertJson(call.header('content-type'));
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
