/** Checks the routes that a control module declares: their schemas are what its input is checked with. */
import { actionsOf, RESPONSE_HEADERS, routesOf, VERBS, type RouteDeclaration } from '../contract/control.js';
import { wordHint } from '../contract/suggest.js';
import { isRecord, ManifestError, unknownKeys, type ManifestErrors } from './manifest-error.js';

const KEYS = [
  'summary',
  'body',
  'maxBody',
  'check',
  'query',
  'upstream',
  'scope',
  'responses',
  'creates',
  'headers',
  'dryRun',
  'carriesCalls',
  'open',
  'anyMediaType',
  'selects',
  'failure',
  'errors',
];
/** `/http/upstreams/:group`, or nothing. */
const PATH = /^(?:\/(?::\w+|[\w.~-]+))*\/?$/;
/** Query parameters that are the same for all routes. */
const COMMON = ['dry_run', 'fields'];
/** Keywords of a schema that was written by hand: one of JSON Schema. */
const SCHEMA_WORDS = ['type', 'anyOf', 'allOf', 'oneOf', 'not', 'enum', 'const', '$ref'];
const OWN_CODE = "write it as { code: 'AcmeZoneNotFound', status: 404, meaning: 'There is no such zone.' }";

/** Everything that is wrong with the routes and actions of a module's object. */
export function* routeErrors(instance: object): ManifestErrors {
  for (const [name, method] of actionsOf(instance)) yield* methodErrors(instance, `action "${name}"`, method);
  for (const route of routesOf(instance)) {
    const what = `route ${route.verb} "${route.path}"`;
    yield* methodErrors(instance, what, route.method);
    for (const { message, hint } of declarationErrors(route)) yield new ManifestError(`${what}: ${message}`, hint);
  }
}

function* methodErrors(instance: object, what: string, method: string): ManifestErrors {
  if (typeof (instance as Readonly<Record<string, unknown>>)[method] !== 'function')
    yield new ManifestError(`${what}: the class has no method "${method}"`, 'put the decorator directly before its method');
}

function* declarationErrors({ verb, path, schemas }: RouteDeclaration): ManifestErrors {
  if (!VERBS.includes(verb)) yield new ManifestError(`unknown method "${verb}"`, `one of: ${VERBS.join(', ')}`);
  if (typeof path !== 'string' || !PATH.test(path))
    yield new ManifestError('invalid path', 'it is empty, or starts with a slash: /things/:id; a parameter is a whole segment');
  if (!isRecord(schemas)) {
    yield new ManifestError(
      'the schemas are missing',
      "they are the third argument: { summary: '…', responses: { 200: Type.Object({ … }) } }",
    );
    return;
  }
  yield* unknownKeys('key', schemas, KEYS);
  const {
    summary,
    body,
    maxBody,
    check,
    failure,
    query,
    selects,
    responses,
    headers = [],
    errors = [],
  } = schemas as Readonly<Record<string, unknown>>;
  if (typeof summary !== 'string' || summary === '')
    yield new ManifestError('"summary" must be a text', 'it says in the document what the route is for');
  yield* schemaErrors('body', body);
  yield* schemaErrors('query', query);
  for (const name of COMMON)
    if (!(name === 'fields' && selects === true) && isRecord(query) && isRecord(query['properties']) && name in query['properties'])
      yield new ManifestError(`"query" must not have the parameter "${name}"`, 'srv reads it for all routes');
  if (maxBody !== undefined && !(Number.isSafeInteger(maxBody) && (maxBody as number) > 0))
    yield new ManifestError('"maxBody" must be a number of bytes');
  if (check !== undefined && typeof check !== 'function')
    yield new ManifestError('"check" must be a function', 'it gets the body and returns errors');
  if (failure !== undefined && typeof failure !== 'function')
    yield new ManifestError('"failure" must be a function', 'it gets an ApiError and returns another one');
  for (const flag of ['anyMediaType', 'creates', 'dryRun', 'selects', 'carriesCalls', 'open']) {
    const value = (schemas as Readonly<Record<string, unknown>>)[flag];
    if (value !== undefined && typeof value !== 'boolean') yield new ManifestError(`"${flag}" must be true or false`);
  }
  if (!['undefined', 'profile'].includes(String(schemas['scope']))) yield new ManifestError('"scope" must be "profile"');
  yield* upstreamErrors(path, schemas);
  yield* responsesErrors(responses);
  yield* listErrors('headers', headers, headerError);
  yield* listErrors('errors', errors, codeError);
}

/** A name that is nowhere would take the call from all tokens that are for one upstream. */
function* upstreamErrors(path: string, { upstream, body }: Readonly<Record<string, unknown>>): ManifestErrors {
  if (upstream === undefined) return;
  const { in: place, name } = isRecord(upstream) ? upstream : {};
  const isInPath = place === 'path' && path.split('/').includes(`:${String(name)}`);
  const isInBody = place === 'body' && isRecord(body) && isRecord(body['properties']) && String(name) in body['properties'];
  if (!isInPath && !isInBody)
    yield new ManifestError(
      '"upstream" must name a parameter of the path or a field of the body',
      "write it as { in: 'path', name: 'upstream' }",
    );
}

function* responsesErrors(responses: unknown): ManifestErrors {
  if (!isRecord(responses) || Object.keys(responses).length === 0)
    return yield new ManifestError(
      '"responses" must be schemas by status',
      'write it as responses: { 200: Type.Object({ … }), 204: null }',
    );
  for (const [status, schemas] of Object.entries(responses)) {
    if (!/^[2-5]\d\d$/.test(status)) yield new ManifestError(`"${status}" is not a status`, 'responses has schemas by status: { 200: … }');
    if (schemas !== null) for (const schema of [schemas].flat()) yield* schemaErrors(`responses.${status}`, schema ?? '');
  }
}

/** Undefined: there is none. */
function* schemaErrors(what: string, schema: unknown): ManifestErrors {
  if (schema === undefined) return;
  if (isRecord(schema) && ('~kind' in schema || SCHEMA_WORDS.some((word) => word in schema))) return;
  yield new ManifestError(
    `"${what}" must be a schema`,
    "import { Type } from 'srv/module/schema.js' and write Type.Object({ name: Type.String() })",
  );
}

function* listErrors(what: string, list: unknown, errorOf: (entry: unknown) => ManifestError | undefined): ManifestErrors {
  if (!Array.isArray(list)) return yield new ManifestError(`"${what}" must be an array`);
  for (const entry of list) {
    const error = errorOf(entry);
    if (error !== undefined) yield error;
  }
}

function headerError(name: unknown): ManifestError | undefined {
  const known = Object.keys(RESPONSE_HEADERS);
  return known.includes(name as string) ? undefined : new ManifestError(`unknown header "${String(name)}"`, wordHint(String(name), known));
}

function codeError(entry: unknown): ManifestError | undefined {
  if (typeof entry === 'string') return undefined;
  const { code, status, meaning } = isRecord(entry) ? entry : {};
  const isOwn = typeof code === 'string' && typeof meaning === 'string' && Number(status) >= 400 && Number(status) < 600;
  return isOwn ? undefined : new ManifestError('"errors" must be codes', OWN_CODE);
}
