/** The OpenAPI 3.1 document of all routes, made of their schemas. */
import { ERROR_CODES, type ErrorCode } from './error-codes.js';
import { FLAG_VALUES } from './request-input.js';
import type { Route } from './route-table.js';

type Json = Readonly<Record<string, unknown>>;

const ERROR_REFERENCE = { $ref: '#/components/schemas/Error' };
const DRY_RUN_REFERENCE = { $ref: '#/components/schemas/DryRun' };

/** @param base path before `/v1`; @param version of the server */
export function openApi(routes: Iterable<Route>, base: string, version: string): Json {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.verb.toLowerCase()]: operation(route) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'srv control API', version },
    servers: [{ url: base === '' ? '/' : base }],
    paths,
    components: { schemas: { Error: ERROR, DryRun: DRY_RUN } },
  };
}

function operation(route: Route): Json {
  const { verb, path, key, schemas, body, query } = route;
  return {
    operationId: `${verb.toLowerCase()}${path.replaceAll(/[^A-Za-z0-9]+(.)?/g, (_, next: string | undefined) => next?.toUpperCase() ?? '')}`,
    summary: schemas.summary,
    tags: [key],
    parameters: [...pathParameters(path), ...queryParameters(query?.json), ...commonParameters(verb, schemas.creates ?? false)],
    ...(body && { requestBody: { required: true, content: { 'application/json': { schema: body.json } } } }),
    responses: responses(route),
  };
}

function pathParameters(path: string): Json[] {
  return Array.from(path.matchAll(/:(\w+)/g), ([, name]) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
}

function queryParameters(schema: Json | undefined): Json[] {
  const { properties = {}, required = [] } = (schema ?? {}) as { properties?: Record<string, unknown>; required?: string[] };
  return Object.entries(properties).map(([name, of]) => ({ name, in: 'query', required: required.includes(name), schema: of }));
}

function commonParameters(verb: string, creates: boolean): Json[] {
  if (verb === 'GET') {
    return [
      {
        name: 'fields',
        in: 'query',
        required: false,
        description: 'Fields the answer is to have, separated by commas.',
        schema: { type: 'string' },
      },
    ];
  }
  return [
    {
      name: 'dry_run',
      in: 'query',
      required: false,
      description: 'Validate and say what would change; change nothing.',
      allowEmptyValue: true,
      schema: { type: 'string', enum: FLAG_VALUES },
    },
    header('If-Match', 'The ETag that must still hold.'),
    header('If-None-Match', `The ETag that must not hold${creates ? '; *: there must be nothing yet' : ''}.`),
  ];
}

function header(name: string, description: string): Json {
  return { name, in: 'header', required: false, description, schema: { type: 'string' } };
}

function responses(route: Route): Json {
  const found: Record<string, unknown> = {};
  for (const [status, schemas] of answersOf(route)) {
    const isEmpty = route.schemas.answers[Number(status)] === null;
    const description = isEmpty ? 'Success; the body is empty (a dry run has one, with status 200).' : 'Success.';
    found[status] = { description, ...(schemas.length > 0 && { content: contentOf(schemas) }) };
  }
  for (const [status, codes] of Map.groupBy(errorsOf(route), (code) => codeOf(code)?.status ?? 500)) {
    found[String(status)] = {
      description: codes.map((code) => `${code}: ${codeOf(code)?.meaning ?? ''}`).join(' '),
      content: errorContent({ allOf: [ERROR_REFERENCE, { properties: { error: { properties: { code: { enum: codes } } } } }] }),
    };
  }
  return { ...found, default: { description: 'Any other failure.', content: errorContent(ERROR_REFERENCE) } };
}

/** Schemas of the successful answers by status; none: the answer is empty. */
function answersOf({ verb, schemas: { answers } }: Route): Map<string, readonly object[]> {
  const found = new Map(Object.entries(answers).map(([status, answer]) => [status, [answer ?? []].flat()] as const));
  if (verb === 'GET') return new Map(Array.from(found, ([status, schemas]) => [status, schemas.map(selectable)]));
  return found.set('200', [...(found.get('200') ?? []), DRY_RUN_REFERENCE]);
}

/** `fields` may leave out any field of an object, or of the entries of an array. */
function selectable(schema: object): object {
  if ('items' in schema) return { ...schema, items: selectable(schema.items as object) };
  return Object.fromEntries(Object.entries(schema).filter(([name]) => name !== 'required'));
}

/** What the route names, and what is answered before it is called. */
function errorsOf({ verb, body, schemas: { errors = [] } }: Route): string[] {
  const ofBody = body ? ['JsonError', 'BodyTooLarge', 'UnsupportedMediaType'] : [];
  const ofConditions = verb === 'GET' ? [] : ['VersionMismatch'];
  const ofAll = ['InvalidField', 'AccessDenied', 'ForbiddenHost', 'ForbiddenOrigin', 'InternalError'];
  return [...new Set([...errors, ...ofBody, ...ofConditions, ...ofAll])];
}

function contentOf(schemas: readonly object[]): Json {
  const types = Array.from(Map.groupBy(schemas, schemaType), ([type, [schema, ...others]]) => [
    type,
    { schema: others.length === 0 ? schema : { anyOf: [schema, ...others] } },
  ]);
  return Object.fromEntries(types) as Json;
}

/** A schema with `contentMediaType` is not JSON: `text/plain`. */
function schemaType(schema: object): string {
  return 'contentMediaType' in schema ? String(schema.contentMediaType) : 'application/json';
}

const errorContent = (schema: Json): Json => ({ 'application/json': { schema } });

function codeOf(code: string): ErrorCode | undefined {
  return (ERROR_CODES as Readonly<Record<string, ErrorCode>>)[code];
}

const DRY_RUN: Json = {
  type: 'object',
  description: 'The answer to `dry_run`: what would change, as lines of a configuration diff.',
  required: ['dry_run', 'diff'],
  properties: { dry_run: { const: true }, diff: { type: 'array', items: { type: 'string' } } },
};

const ERROR: Json = {
  type: 'object',
  required: ['error', 'request_id', 'href'],
  properties: {
    error: {
      type: 'object',
      required: ['status', 'code', 'text', 'details'],
      properties: {
        status: { type: 'integer' },
        code: { type: 'string', enum: Object.keys(ERROR_CODES) },
        text: { type: 'string' },
        details: { type: 'array', items: {} },
      },
    },
    request_id: { type: 'string' },
    href: { type: 'string' },
  },
};
