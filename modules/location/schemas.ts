/** Schemas of the location API: input and responses. */
import { DATA_PLANE_ERRORS } from '../../core/contract/control.js';
import { Type, type TSchema } from '../../core/contract/schema.js';
import { Done, forceQuery } from '../../core/contract/versioned.js';
import { serverPage } from '../../core/toolkit/server-page.js';

/** Locations in locations that a call may hold. */
const DEPTH = 4;

const rule = Type.Enum(['', '=', '~', '~*', '^~'], { description: 'The modifier of the location.' });
const key = { location_rule: rule, location_name: Type.String({ minLength: 1, description: 'URI, regular expression or `@name`.' }) };
const place = {
  addr_port: Type.String({ minLength: 1, description: 'An address that the server listens on: `0.0.0.0:80`.' }),
  server_name: Type.Optional(Type.String({ description: 'Names of the server, separated by blanks; absent: the default server.' })),
  within: Type.Optional(Type.Array(Type.Object(key), { description: 'The locations around it, the outermost first.' })),
};
const content = {
  location_body: Type.Optional(Type.String({ description: 'Directives; the last `;` may be left out.' })),
  proxy_pass: Type.Optional(Type.String({ description: 'Where requests are passed to; empty: nowhere.' })),
};

function newLocation(depth: number): TSchema {
  const fields = { ...key, ...content };
  const nested = depth > 0 ? { locations: Type.Optional(Type.Array(newLocation(depth - 1))) } : {};
  return Type.Object({ ...fields, ...nested }, depth === DEPTH ? { title: 'NewLocation' } : {});
}
function shownLocation(depth: number): TSchema {
  const { proxy_pass } = content;
  const fields = {
    ...key,
    location_body: Type.String(),
    proxy_pass,
    is_static: Type.Boolean({ description: 'It is in the configuration file.' }),
  };
  if (depth === DEPTH)
    return Type.Object(
      { addr_port: Type.String(), server_name: Type.String(), ...fields, locations: Type.Optional(Type.Array(shownLocation(depth - 1))) },
      { title: 'Location' },
    );
  return Type.Object({ ...fields, ...(depth > 0 && { locations: Type.Optional(Type.Array(shownLocation(depth - 1))) }) });
}

const PLACE_ERRORS = [...DATA_PLANE_ERRORS, 'ServerNotFound', 'InvalidField'] as const;
const WRITE_ERRORS = [...PLACE_ERRORS, 'ConfigError', 'ChangedMeanwhile', 'HeapFull', 'StoreFull', 'VersionMismatch'] as const;

export const list = {
  summary: 'List locations, of one server or of all',
  query: serverPage,
  responses: { 200: Type.Array(shownLocation(DEPTH)) },
  headers: ['ETag', 'Link'],
  errors: PLACE_ERRORS,
} as const;
export const add = {
  summary: 'Add locations to a server: all or none',
  dryRun: true,
  body: Type.Object(
    { type: Type.Optional(Type.Literal('add')), ...place, locations: Type.Array(newLocation(DEPTH), { minItems: 1 }) },
    { title: 'NewLocations' },
  ),
  responses: { 200: Done },
  headers: ['ETag'],
  errors: [...WRITE_ERRORS, 'LocationNotFound', 'EntryExists'],
} as const;
export const change = {
  summary: 'Change a location in place: what the fields name is replaced as a whole',
  dryRun: true,
  query: forceQuery,
  body: Type.Object(
    { ...place, ...key, ...content, locations: Type.Optional(Type.Array(newLocation(DEPTH - 1))) },
    { title: 'LocationPatch' },
  ),
  responses: { 200: Done },
  headers: ['ETag'],
  errors: [...WRITE_ERRORS, 'LocationNotFound', 'LocationStatic'],
} as const;
export const remove = {
  summary: 'Remove a location',
  dryRun: true,
  query: forceQuery,
  body: Type.Object({ type: Type.Literal('del'), ...place, ...key }, { title: 'RemovedLocation' }),
  responses: { 200: Done },
  headers: ['ETag'],
  errors: [...WRITE_ERRORS, 'LocationNotFound', 'LocationStatic'],
} as const;
