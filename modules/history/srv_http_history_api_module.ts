import { ApiError, DATA_PLANE_ERRORS, route, type Call, type Reply } from '../../core/contract/control.js';
import { controlModule } from '../../core/contract/manifest.js';
import { Type } from '../../core/contract/schema.js';
import { DataPlane } from '../../core/contract/data-plane.js';
import { readReply, writeReply, type Versioned, pageLimit } from '../../core/contract/versioned.js';

/** Entries of a page, where the caller does not say. */
const PAGE = 50;

const directive = Type.Optional(Type.String());
const Change = Type.Object({ place: Type.String(), before: directive, after: directive }, { title: 'Change' });
const Entry = Type.Object(
  {
    version: Type.Integer(),
    at: Type.String({ description: 'When it took effect.' }),
    node: Type.String({ description: '`node_name` of the node that made it.' }),
    origin: Type.String({ description: '`request_id` of the call, or `reload`.' }),
    actor: Type.Optional(Type.String({ description: 'The caller: token, certificate, user, or `anonymous`. Absent for a reload.' })),
    message: Type.Optional(Type.String({ description: '`Change-Message` of the call.' })),
    changes: Type.Optional(Type.Union([Type.Array(Change), Type.Null()], { description: 'Of a call; null: too long to be kept.' })),
    diff: Type.Optional(Type.Array(Type.String(), { description: 'Of a reload.' })),
  },
  { title: 'HistoryEntry' },
);

const list = {
  summary: 'Changes of the configuration, the newest first',
  query: Type.Object({
    after: Type.Optional(Type.Integer({ minimum: 0, description: 'Version that the page before ended with.' })),
    limit: pageLimit(1000),
  }),
  responses: { 200: Type.Array(Entry) },
  headers: ['ETag', 'Link'],
  errors: DATA_PLANE_ERRORS,
} as const;
const rollback = {
  summary: 'Take back what the API changed after a version; what reloads brought stays',
  dryRun: true,
  responses: { 200: Type.Object({ version: Type.Integer() }, { title: 'Rollback' }) },
  headers: ['ETag'],
  errors: [
    ...DATA_PLANE_ERRORS,
    'InvalidField',
    'VersionNotFound',
    'RollbackImpossible',
    'ConfigError',
    'ZoneFull',
    'HeapFull',
    'StoreFull',
  ],
} as const;

/** History and rollback over HTTP: `/v1/history`. The data plane knows what a call means. */
@controlModule({ name: 'srv_http_history_api_module', api: 1, key: 'history', dataModule: 'srv_http_config_module' })
export class HistoryApi {
  constructor(private readonly dataPlane: DataPlane) {}

  @route('GET', '', list)
  async list({ query, ...call }: Call<typeof list>): Promise<Reply> {
    return readReply(await this.dataPlane.call<Versioned>('history.list', { limit: PAGE, ...query }, call));
  }

  @route('POST', '/:version/rollback', rollback)
  async rollback(call: Call): Promise<Reply> {
    const { version: text = '' } = call.params;
    if (!/^\d{1,15}$/.test(text)) throw new ApiError(400, 'InvalidField', `invalid version "${text}": must be a number`);
    const version = Number(text);
    return writeReply(call, await this.dataPlane.call<Versioned>('history.rollback', { version }, call));
  }
}
