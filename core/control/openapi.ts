/** The OpenAPI 3.1 document of all routes, made of their schemas. */
import type { TSchema } from 'typebox';
import type { RouteSchemas } from '../module/control.js';
import { ERROR_CODES, type ErrorCode } from './error-codes.js';
import type { Route } from './route-table.js';

type Json = Readonly<Record<string, unknown>>;

const ERROR_REFERENCE = { $ref: '#/components/schemas/Error' };

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
    components: { schemas: { Error: errorSchema() } },
  };
}

function operation({ verb, path, key, schemas, body, query }: Route): Json {
  return {
    operationId: `${verb.toLowerCase()}${path.replaceAll(/[^A-Za-z0-9]+(.)?/g, (_, next: string | undefined) => next?.toUpperCase() ?? '')}`,
    summary: schemas.summary,
    tags: [key],
    parameters: [...pathParameters(path), ...queryParameters(query?.json), ...commonParameters(verb)],
    ...(body && { requestBody: { required: true, content: { 'application/json': { schema: body.json } } } }),
    responses: responses(schemas),
  };
}

function pathParameters(path: string): Json[] {
  return Array.from(path.matchAll(/:(\w+)/g), ([, name]) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
}

function queryParameters(schema: Json | undefined): Json[] {
  const { properties = {}, required = [] } = (schema ?? {}) as { properties?: Record<string, unknown>; required?: string[] };
  return Object.entries(properties).map(([name, of]) => ({ name, in: 'query', required: required.includes(name), schema: of }));
}

function commonParameters(verb: string): Json[] {
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
      schema: { type: 'integer', enum: [0, 1] },
    },
    header('If-Match', 'The ETag that must still hold.'),
    header('If-None-Match', 'The ETag that must not hold; *: there must be nothing yet.'),
  ];
}

function header(name: string, description: string): Json {
  return { name, in: 'header', required: false, description, schema: { type: 'string' } };
}

function responses({ answers, errors = [] }: RouteSchemas): Json {
  const found: Record<string, unknown> = {};
  for (const [status, schema] of Object.entries(answers)) {
    found[status] = { description: 'Success.', ...(schema && { content: contentOf(schema) }) };
  }
  for (const [status, codes] of Map.groupBy(errors, (code) => codeOf(code)?.status ?? 500)) {
    found[String(status)] = {
      description: codes.map((code) => `${code}: ${codeOf(code)?.meaning ?? ''}`).join(' '),
      content: errorContent(),
    };
  }
  return { ...found, default: { description: 'Any other failure.', content: errorContent() } };
}

function contentOf(schemas: TSchema | readonly TSchema[]): Json {
  return Object.fromEntries([schemas].flat().map((schema) => [schemaType(schema), { schema }]));
}

/** A schema with `contentMediaType` is not JSON: `text/plain`. */
function schemaType(schema: object): string {
  return 'contentMediaType' in schema ? String(schema.contentMediaType) : 'application/json';
}

const errorContent = (): Json => ({ 'application/json': { schema: ERROR_REFERENCE } });

function codeOf(code: string): ErrorCode | undefined {
  return (ERROR_CODES as Readonly<Record<string, ErrorCode>>)[code];
}

function errorSchema(): Json {
  return {
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
}
