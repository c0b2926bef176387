/** Input of the calls of NGINX Plus that srv serves. Its own document describes them: https://nginx.org/en/docs/http/ngx_http_api_module.html */
import { argSchemas, Type } from '../../core/contract/schema.js';
import { upstreamDirectives } from '../../core/toolkit/upstream.js';
import { keyvalFailure, upstreamFailure } from './errors.js';

const { accepted } = argSchemas(upstreamDirectives.server);
// Whether a name is looked up again and again follows from the address.
const { server, resolve: _resolve, members_from: _source, ...settings } = accepted;

const fields = Type.Object({ fields: Type.Optional(Type.String()) });
const Anything = Type.Unknown();

/** A read whose fields can be selected. */
export const read = { summary: 'Read', query: fields, selects: true, responses: { 200: Anything } } as const;
export const reset = { summary: 'Set figures to zero', dryRun: true, responses: { 204: null } } as const;

const ofUpstream = { upstream: { in: 'path', name: 'upstream' }, failure: upstreamFailure, anyMediaType: true } as const;
export const listUpstreams = { ...read, failure: upstreamFailure } as const;
export const readUpstream = { ...read, ...ofUpstream } as const;
export const resetUpstream = { ...reset, ...ofUpstream } as const;
export const removeServer = { ...ofUpstream, summary: 'Remove a server', dryRun: true, responses: { 200: Anything } } as const;
export const addServer = {
  ...ofUpstream,
  summary: 'Add a server',
  dryRun: true,
  body: Type.Object({ server, ...Type.Partial(Type.Object(settings)).properties }),
  responses: { 201: Anything },
} as const;
export const changeServer = {
  ...ofUpstream,
  summary: 'Change a server',
  dryRun: true,
  body: Type.Object({ ...Type.Partial(Type.Object({ server, ...settings })).properties }),
  responses: { 200: Anything },
} as const;

const { route: _route, ...ofStream } = settings;
export const addStreamServer = {
  ...addServer,
  body: Type.Object({ server, ...Type.Partial(Type.Object(ofStream)).properties }),
} as const;
export const changeStreamServer = {
  ...changeServer,
  body: Type.Object({ ...Type.Partial(Type.Object({ server, ...ofStream })).properties }),
} as const;

/** A value, one with its time in milliseconds, or null: the key is deleted. */
const Keyval = Type.Union([
  Type.String(),
  Type.Null(),
  Type.Object({ value: Type.Optional(Type.String()), expire: Type.Optional(Type.Integer({ minimum: 0, maximum: 1e12 })) }),
]);
const Pairs = Type.Record(Type.String(), Keyval);
const ofKeyvals = { failure: keyvalFailure, anyMediaType: true } as const;
export const readKeyvals = {
  ...ofKeyvals,
  summary: 'Read pairs',
  query: Type.Object({ fields: Type.Optional(Type.String()), key: Type.Optional(Type.String()) }),
  selects: true,
  responses: { 200: Anything },
} as const;
export const addKeyval = { ...ofKeyvals, summary: 'Add a pair', dryRun: true, body: Pairs, responses: { 201: null } } as const;
export const changeKeyval = {
  ...ofKeyvals,
  summary: 'Change or delete a pair',
  dryRun: true,
  body: Pairs,
  responses: { 204: null },
} as const;
export const clearKeyvals = { ...ofKeyvals, summary: 'Delete all pairs', dryRun: true, responses: { 204: null } } as const;
