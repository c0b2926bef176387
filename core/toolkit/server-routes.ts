/** Whole servers over HTTP: the routes of their APIs, the same for both traffic engines. */
import { DATA_PLANE_ERRORS, route, type Call, type Reply } from '../contract/control.js';
import { Type } from '../contract/schema.js';
import { Done, forceQuery, isForced } from '../contract/versioned.js';
import { ActionRoutes } from './action-routes.js';
import { serverPage } from './server-page.js';

const address = Type.String({ minLength: 1, description: 'Address and port: `0.0.0.0:8443`; in `stream` also `0.0.0.0:53 udp`.' });
const names = Type.Optional(Type.String({ description: 'One or more names, separated by blanks; wildcards and regular expressions too.' }));
const body = Type.String({ description: 'Directives; the last `;` may be left out. Locations are among them.' });
const Server = Type.Object(
  {
    listens: Type.Array(Type.String()),
    server_name: Type.String(),
    is_static: Type.Boolean({ description: 'It is in the configuration file.' }),
    server_body: Type.String({ description: 'Everything but `listen` and `server_name`.' }),
  },
  { title: 'Server' },
);

const PLACE_ERRORS = [...DATA_PLANE_ERRORS, 'InvalidField', 'ServerNotFound'] as const;
const WRITE_ERRORS = [
  ...DATA_PLANE_ERRORS,
  'InvalidField',
  'ConfigError',
  'ListenFailed',
  'ChangedMeanwhile',
  'HeapFull',
  'StoreFull',
] as const;
const CHANGE_ERRORS = [...WRITE_ERRORS, 'ServerNotFound', 'ServerStatic'] as const;

const list = {
  summary: 'List virtual servers with their text',
  query: serverPage,
  responses: { 200: Type.Array(Server) },
  headers: ['ETag', 'Link'],
  errors: PLACE_ERRORS,
} as const;
const add = {
  summary: 'Add a virtual server; a port that nothing listens on is opened',
  dryRun: true,
  body: Type.Object(
    {
      type: Type.Optional(Type.Literal('add')),
      addr_port: address,
      server_name: names,
      listen_option: Type.Optional(
        Type.String({ description: 'Parameters of `listen`: `ssl`, `default_server`; `udp` is a part of `addr_port`.' }),
      ),
      server_body: Type.Optional(body),
    },
    { title: 'NewServer' },
  ),
  responses: { 200: Done },
  headers: ['ETag'],
  errors: [...WRITE_ERRORS, 'EntryExists', 'EngineMissing'],
} as const;
const change = {
  summary: 'Replace everything of a virtual server but its addresses and names',
  dryRun: true,
  query: forceQuery,
  body: Type.Object({ addr_port: address, server_name: names, server_body: body }, { title: 'ServerPatch' }),
  responses: { 200: Done },
  headers: ['ETag'],
  errors: CHANGE_ERRORS,
} as const;
const remove = {
  summary: 'Remove a virtual server; a port without another server is closed',
  dryRun: true,
  query: forceQuery,
  body: Type.Object({ type: Type.Literal('del'), addr_port: address, server_name: names }, { title: 'RemovedServer' }),
  responses: { 200: Done },
  headers: ['ETag'],
  errors: CHANGE_ERRORS,
} as const;

/** A module of the control plane extends it: each route calls the action of its name. */
export abstract class ServerRoutes extends ActionRoutes {
  @route('GET', '', list)
  list({ query, ...call }: Call<typeof list>): Promise<Reply> {
    return this.read('list', query, call);
  }

  @route('POST', '', add)
  add({ body: fields, ...call }: Call<typeof add>): Promise<Reply> {
    return this.write('add', fields, call);
  }

  @route('PATCH', '', change)
  change({ body: fields, query, ...call }: Call<typeof change>): Promise<Reply> {
    return this.write('change', { ...fields, force: isForced(query) }, call);
  }

  @route('PUT', '', remove)
  remove({ body: fields, query, ...call }: Call<typeof remove>): Promise<Reply> {
    return this.write('remove', { ...fields, force: isForced(query) }, call);
  }
}
