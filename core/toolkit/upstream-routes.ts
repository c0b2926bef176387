/** Whole upstreams over HTTP: the routes of their APIs, the same for both traffic engines. */
import { DATA_PLANE_ERRORS, route, type Call, type Reply } from '../contract/control.js';
import { Type } from '../contract/schema.js';
import { Done, forceQuery, isForced, pageLimit } from '../contract/versioned.js';
import { ActionRoutes } from './action-routes.js';

const Name = Type.String({ minLength: 1, maxLength: 255, description: 'Name of the upstream.' });
const Body = Type.String({ description: 'Directives; `zone` is one of them. The last `;` may be left out.' });
const text = Type.Optional(Type.String());
const DynamicUpstream = Type.Object(
  {
    upstream_name: Type.String(),
    algorithm: Type.String({ description: '`round_robin`, or the directive that chooses members.' }),
    zone: text,
    keepalive: text,
    keepalive_requests: text,
    keepalive_time: text,
    keepalive_timeout: text,
    resolver: text,
    state: text,
    is_static: Type.Boolean({ description: 'It is in the configuration file.' }),
    upstream_body: Type.String(),
  },
  { title: 'DynamicUpstream' },
);

const WRITE_ERRORS = [
  ...DATA_PLANE_ERRORS,
  'ConfigError',
  'ChangedMeanwhile',
  'ZoneFull',
  'HeapFull',
  'StoreFull',
  'SharedPoolExhausted',
] as const;
const CHANGE_ERRORS = [...WRITE_ERRORS, 'UpstreamNotFound', 'UpstreamStatic'] as const;

const list = {
  summary: 'List all upstreams with their text',
  query: Type.Object({
    after: Type.Optional(Type.String({ description: 'Name that the page before ended with.' })),
    limit: pageLimit(),
  }),
  responses: { 200: Type.Array(DynamicUpstream) },
  headers: ['ETag', 'Link'],
  errors: DATA_PLANE_ERRORS,
} as const;
const get = {
  summary: 'Get an upstream with its text',
  upstream: { in: 'path', name: 'name' },
  responses: { 200: DynamicUpstream },
  headers: ['ETag'],
  errors: [...DATA_PLANE_ERRORS, 'UpstreamNotFound'],
} as const;
const add = {
  summary: 'Add an upstream',
  upstream: { in: 'body', name: 'upstream_name' },
  dryRun: true,
  body: Type.Object({ type: Type.Optional(Type.Literal('add')), upstream_name: Name, upstream_body: Body }, { title: 'NewUpstream' }),
  creates: true,
  responses: { 200: Done },
  headers: ['ETag'],
  errors: [...WRITE_ERRORS, 'EntryExists', 'EngineMissing'],
} as const;
const change = {
  summary: 'Change the directives of an upstream and keep its members',
  upstream: { in: 'path', name: 'name' },
  dryRun: true,
  query: forceQuery,
  body: Type.Object({ upstream_body: Body }, { title: 'UpstreamPatch' }),
  responses: { 200: Done },
  headers: ['ETag'],
  errors: CHANGE_ERRORS,
} as const;
const remove = {
  summary: 'Remove an upstream that nothing uses',
  upstream: { in: 'body', name: 'upstream_name' },
  dryRun: true,
  query: forceQuery,
  body: Type.Object({ type: Type.Literal('del'), upstream_name: Name }, { title: 'RemovedUpstream' }),
  responses: { 200: Done },
  headers: ['ETag'],
  errors: [...CHANGE_ERRORS, 'UpstreamInUse'],
} as const;

/** A module of the control plane extends it: each route calls the action of its name. */
export abstract class UpstreamRoutes extends ActionRoutes {
  @route('GET', '', list)
  list({ query, ...call }: Call<typeof list>): Promise<Reply> {
    return this.read('list', query, call);
  }

  @route('GET', '/:name', get)
  get(call: Call): Promise<Reply> {
    return this.read('get', { upstream_name: call.params['name'] }, call);
  }

  @route('POST', '', add)
  add({ body, ...call }: Call<typeof add>): Promise<Reply> {
    return this.write('add', body, call);
  }

  @route('PATCH', '/:name', change)
  change({ body, query, ...call }: Call<typeof change>): Promise<Reply> {
    return this.write('change', { ...body, upstream_name: call.params['name'], force: isForced(query) }, call);
  }

  @route('PUT', '', remove)
  remove({ body, query, ...call }: Call<typeof remove>): Promise<Reply> {
    return this.write('remove', { ...body, force: isForced(query) }, call);
  }
}
