/** The OpenAPI 3.1 document of all routes, made of their schemas. */
import { RESPONSE_HEADERS, type OwnErrorCode, type RouteSchemas } from '../contract/control.js';
import { ERROR_CODES, type ErrorCode } from './error-codes.js';
import { NamedSchemas } from './openapi-schemas.js';
import { FLAG_VALUES } from './request-input.js';
import type { Route } from './route-table.js';

type Json = Readonly<Record<string, unknown>>;

const ERROR_REFERENCE = { $ref: '#/components/schemas/Error' };
const DRY_RUN_REFERENCE = { $ref: '#/components/schemas/DryRun' };

/** @param base path before `/v1`; @param version of the server */
export function openApi(routes: Iterable<Route>, base: string, version: string): Json {
  const paths: Record<string, Record<string, unknown>> = {};
  const schemas = new NamedSchemas();
  const codes = new Set<string>(Object.keys(ERROR_CODES));
  for (const route of routes) {
    if (route.isHidden === true) continue;
    for (const { code } of errorsOf(route)) codes.add(code);
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.verb.toLowerCase()]: operation(route, schemas) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'srv control API', version },
    servers: [{ url: base === '' ? '/' : base }],
    // Whether a token is needed is a matter of the configuration.
    security: [{}, { token: [] }],
    paths,
    components: {
      schemas: { ...schemas.all, Error: errorSchema([...codes]), DryRun: DRY_RUN },
      headers: HEADERS,
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
  };
}

function operation(route: Route, named: NamedSchemas): Json {
  const { verb, path, key, schemas, body, query } = route;
  return {
    operationId: `${verb.toLowerCase()}${path.replaceAll(/[^A-Za-z0-9]+(.)?/g, (_, next: string | undefined) => next?.toUpperCase() ?? '')}`,
    summary: schemas.summary,
    tags: [key],
    parameters: [...pathParameters(path), ...queryParameters(query?.json), ...commonParameters(verb, schemas)],
    ...(body && { requestBody: { required: true, content: { 'application/json': { schema: named.reference(body.json) } } } }),
    responses: responses(route, named),
  };
}

function pathParameters(path: string): Json[] {
  return Array.from(path.matchAll(/:(\w+)/g), ([, name]) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
}

function queryParameters(schema: Json | undefined): Json[] {
  const { properties = {}, required = [] } = (schema ?? {}) as { properties?: Record<string, unknown>; required?: string[] };
  return Object.entries(properties).map(([name, of]) => ({ name, in: 'query', required: required.includes(name), schema: of }));
}

function commonParameters(verb: string, { creates = false, dryRun = false }: RouteSchemas): Json[] {
  if (verb === 'GET') {
    return [
      {
        name: 'fields',
        in: 'query',
        required: false,
        description: 'Fields of the response, separated by commas.',
        schema: { type: 'string' },
      },
    ];
  }
  return [
    ...(dryRun ? [DRY_RUN_PARAMETER] : []),
    header('If-Match', 'The ETag that must still be current.'),
    header('If-None-Match', `The ETag that must not be current${creates ? '; *: the entry must not exist' : ''}.`),
    header('Change-Message', 'Why the change is made: up to 200 characters in UTF-8, for the history, events and the audit log.'),
    header(
      'Prefer',
      '`return=minimal`: a successful response is 204 without a body. `wait=N`: up to N seconds until all nodes of a cluster have the change.',
    ),
  ];
}

const DRY_RUN_PARAMETER: Json = {
  name: 'dry_run',
  in: 'query',
  required: false,
  description: 'Validate and return what would change; change nothing.',
  allowEmptyValue: true,
  schema: { type: 'string', enum: FLAG_VALUES },
};

function header(name: string, description: string): Json {
  return { name, in: 'header', required: false, description, schema: { type: 'string' } };
}

function responses(route: Route, named: NamedSchemas): Json {
  const found: Record<string, unknown> = {};
  for (const [status, schemas] of successesOf(route, named)) {
    const isEmpty = route.schemas.responses[Number(status)] === null;
    const ofDryRun = route.schemas.dryRun === true ? ' (a dry run has one, with status 200)' : '';
    const description = isEmpty ? `Success; the body is empty${ofDryRun}.` : 'Success.';
    const content = schemas.length > 0 && { content: contentOf(schemas, named) };
    found[status] = { description, ...headersOf(route.schemas.headers ?? []), ...content };
  }
  if (route.verb !== 'GET') found['204'] ??= { description: 'Success, with `Prefer: return=minimal`.', ...headersOf(MINIMAL_HEADERS) };
  for (const [status, errors] of Map.groupBy(errorsOf(route), (error) => error.status)) {
    const codes = errors.map(({ code }) => code);
    found[String(status)] = {
      description: errors.map(({ code, meaning }) => `${code}: ${meaning}`).join(' '),
      ...(status === 503 && headersOf(['Retry-After'])),
      content: errorContent({ allOf: [ERROR_REFERENCE, { properties: { error: { properties: { code: { enum: codes } } } } }] }),
    };
  }
  return { ...found, default: { description: 'Any other failure.', ...headersOf(['Allow']), content: errorContent(ERROR_REFERENCE) } };
}

/** Schemas of the successful responses by status; none: the response is empty. */
function successesOf({ verb, schemas: { responses: declared, dryRun } }: Route, named: NamedSchemas): Map<string, readonly object[]> {
  const found = new Map(Object.entries(declared).map(([status, schemas]) => [status, [schemas ?? []].flat() as object[]] as const));
  if (verb === 'GET') return new Map(Array.from(found, ([status, schemas]) => [status, schemas.flatMap((one) => named.selectable(one))]));
  if (dryRun !== true) return found;
  // A generator of clients takes the first status for that of a success: 200 would hide 201.
  const status = found.has('200') ? '200' : '2XX';
  return found.set(status, [...(found.get(status) ?? []), DRY_RUN_REFERENCE]);
}

/** Declaration of the route, and checks before it is called. */
function errorsOf({ verb, body, schemas: { errors = [] } }: Route): OwnErrorCode[] {
  const ofBody = body ? ['JsonError', 'BodyTooLarge', 'UnsupportedMediaType'] : [];
  const ofConditions = verb === 'GET' ? [] : ['VersionMismatch'];
  const ofWrites = verb === 'GET' ? [] : ['ReadOnly'];
  const ofAll = [
    'InvalidField',
    'Unauthorized',
    'TooManyAttempts',
    'InsufficientScope',
    'AccessDenied',
    'ForbiddenHost',
    'ForbiddenOrigin',
    'InternalError',
  ];
  const all = [...errors, ...ofBody, ...ofConditions, ...ofWrites, ...ofAll].map((error) =>
    typeof error === 'string' ? knownCode(error) : error,
  );
  return [...new Map(all.map((error) => [error.code, error])).values()];
}

function contentOf(schemas: readonly object[], named: NamedSchemas): Json {
  const types = Array.from(Map.groupBy(schemas, schemaType), ([type, alternatives]) => {
    const [schema, ...others] = alternatives.map((one) => named.reference(one));
    return [type, { schema: others.length === 0 ? schema : { anyOf: [schema, ...others] } }];
  });
  return Object.fromEntries(types) as Json;
}

/** A schema with `contentMediaType` is not JSON: `text/plain`. */
function schemaType(schema: object): string {
  return 'contentMediaType' in schema ? String(schema.contentMediaType) : 'application/json';
}

const errorContent = (schema: Json): Json => ({ 'application/json': { schema } });

/** One of srv's; or of a module that says no more of it than its name. */
function knownCode(code: string): OwnErrorCode {
  const { status = 500, meaning = 'An error of this call.' } = (ERROR_CODES as Readonly<Record<string, Partial<ErrorCode>>>)[code] ?? {};
  return { code, status, meaning };
}

const text = { type: 'string' };
const HEADERS = {
  ...Object.fromEntries(Object.entries(RESPONSE_HEADERS).map(([name, description]) => [name, { description, schema: text }])),
  Allow: { description: 'The methods of the path (405).', schema: text },
  'Retry-After': { description: 'Seconds to wait before the next attempt.', schema: { type: 'integer' } },
  'Preference-Applied': { description: '`return=minimal`', schema: text },
} as const;
const MINIMAL_HEADERS = ['ETag', 'Preference-Applied'];

function headersOf(names: readonly string[]): Json {
  if (names.length === 0) return {};
  return { headers: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }])) };
}

const DRY_RUN: Json = {
  type: 'object',
  description: 'The response to `dry_run`: what would change, as lines of a configuration diff.',
  required: ['dry_run', 'diff'],
  properties: { dry_run: { const: true }, diff: { type: 'array', items: { type: 'string' } } },
};

const errorSchema = (codes: readonly string[]): Json => ({
  type: 'object',
  required: ['error', 'request_id', 'href'],
  properties: {
    error: {
      type: 'object',
      required: ['status', 'code', 'text', 'details'],
      properties: {
        status: { type: 'integer' },
        code: { type: 'string', enum: codes },
        text: { type: 'string' },
        details: { type: 'array', items: {} },
      },
    },
    request_id: { type: 'string' },
    href: { type: 'string', description: 'The path of the request, as it was sent.' },
  },
});
