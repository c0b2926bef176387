/** Schemas of the health check API: input and responses. */
import { DATA_PLANE_ERRORS } from '../../core/contract/control.js';
import { argSchemas, Type } from '../../core/contract/schema.js';
import { textErrors } from './check-json.js';
import { checkLine, ssl } from './directives.js';

const timing = argSchemas(checkLine);
const tls = argSchemas(ssl);
const text = (description: string) => Type.Optional(Type.String({ maxLength: 1000, description }));
/** Texts of a request and of rules: none ends its line. */
const line = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 1000, pattern: String.raw`^[^\x00-\x1f\x7f]*$`, description }));

const httpFields = {
  uri: line('a URI that begins with "/"'),
  host: line('a name for the Host field, by default that of the upstream'),
  status: line('statuses that pass: 200, 200-299 301, ! 500-599'),
  header: Type.Optional(
    Type.Array(
      Type.String({
        minLength: 1,
        maxLength: 1000,
        pattern: String.raw`^[^\x00-\x1f\x7f]*$`,
        description: 'a rule: Name, ! Name, Name = value, Name ~ regex',
      }),
      {
        maxItems: 32,
      },
    ),
  ),
  body: line('a rule: ~ regex, !~ regex'),
};
const streamFields = {
  send: text(String.raw`Data to send, with \xHH for any byte.`),
  expect: text(String.raw`Beginning of the response, with \xHH for any byte, or ~ regex.`),
};
/** Input is strict: it has no fields but these. */
const parts = {
  http: Type.Optional(Type.Object(httpFields, { title: 'NewHttpCheck' })),
  stream: Type.Optional(Type.Object(streamFields, { title: 'NewStreamCheck' })),
  ssl: Type.Optional(Type.Partial(Type.Object(tls.accepted))),
};
const Place = { upstream: Type.String(), type: Type.Enum(['http', 'stcp', 'sudp']), engine: Type.Enum(['http', 'stream']) };
const { port: _port, ...shownTiming } = timing.shown;

const HealthCheck = Type.Object(
  {
    ...Place,
    ...shownTiming,
    port: Type.Optional(timing.shown.port),
    http: Type.Optional(Type.Object(httpFields, { title: 'HttpCheck' })),
    stream: Type.Optional(Type.Object(streamFields, { title: 'StreamCheck' })),
    ssl: Type.Optional(Type.Object(tls.shown)),
  },
  { title: 'HealthCheck' },
);
const NewHealthCheck = Type.Object(
  { ...Type.Partial(Type.Object({ ...Place, ...timing.accepted })).properties, ...parts },
  { title: 'NewHealthCheck' },
);

const READ_ERRORS = ['UpstreamNotFound', 'HealthCheckNotFound', ...DATA_PLANE_ERRORS] as const;
const WRITE_ERRORS = ['UpstreamNotFound', 'UpstreamStatic', 'ConfigError', 'ChangedMeanwhile', 'StoreFull', ...DATA_PLANE_ERRORS] as const;

/** The upstream that a call is about. */
const inPath = { in: 'path', name: 'upstream' } as const;
const body = { body: NewHealthCheck, check: textErrors, headers: ['ETag'] } as const;

export const listChecks = {
  summary: 'List the health checks of all upstreams',
  responses: { 200: Type.Array(HealthCheck) },
  headers: ['ETag'],
  errors: DATA_PLANE_ERRORS,
} as const;
export const getCheck = {
  summary: 'Get a health check',
  upstream: inPath,
  responses: { 200: HealthCheck },
  headers: ['ETag'],
  errors: READ_ERRORS,
} as const;
export const addCheck = {
  summary: 'Add a health check to an upstream',
  upstream: inPath,
  dryRun: true,
  ...body,
  responses: { 201: HealthCheck },
  errors: [...WRITE_ERRORS, 'EntryExists'],
} as const;
export const putCheck = {
  summary: 'Add or replace a health check; what is known of the servers stays',
  upstream: inPath,
  dryRun: true,
  creates: true,
  ...body,
  responses: { 200: HealthCheck, 201: HealthCheck },
  errors: WRITE_ERRORS,
} as const;
export const removeCheck = {
  summary: 'Remove a health check; servers that it has found unhealthy get requests again',
  upstream: inPath,
  dryRun: true,
  responses: { 204: null },
  errors: [...WRITE_ERRORS, 'HealthCheckNotFound'],
} as const;
