import { createHash } from 'node:crypto';
import { DATA_PLANE_ERRORS, route, type Call, type Reply } from '../../core/contract/control.js';
import { controlModule } from '../../core/contract/manifest.js';
import { Type } from '../../core/contract/schema.js';
import { ApiRoutes } from '../../core/contract/api-routes.js';
import { DataPlane } from '../../core/contract/data-plane.js';
import { readReply, writeReply, type Versioned } from '../../core/contract/versioned.js';

const Text = Type.String({ contentMediaType: 'text/plain', description: 'With `?format=text`: the configuration as text.' });
const Tree = Type.Array(
  Type.Object(
    { directive: Type.String(), args: Type.Array(Type.String()), block: Type.Optional(Type.Array(Type.Any())) },
    { title: 'Directive', description: 'A directive; those in its `block` have the same form.' },
  ),
);

const effective = {
  summary: 'The current configuration: the files with the changes of the API',
  query: Type.Object({ format: Type.Optional(Type.Enum(['json', 'text'])) }),
  responses: { 200: [Text, Tree] },
  headers: ['ETag'],
  errors: DATA_PLANE_ERRORS,
} as const;
const drift = {
  summary: 'The difference between the configuration files and the current configuration',
  responses: { 200: Type.Object({ diff: Type.Array(Type.String()) }, { title: 'Drift' }) },
  headers: ['ETag'],
  errors: DATA_PLANE_ERRORS,
} as const;

const keys = {
  summary: 'List the keys of settings, each with a path of its own',
  responses: { 200: Type.Array(Type.String()) },
  headers: ['ETag'],
} as const;
const save = {
  summary: 'Write what the API changed into the configuration files',
  dryRun: true,
  responses: {
    200: Type.Object(
      {
        version: Type.Integer(),
        files: Type.Array(Type.Object({ file: Type.String(), backup: Type.String({ description: 'The file as it was.' }) })),
      },
      { title: 'Saved' },
    ),
  },
  headers: ['ETag'],
  errors: [...DATA_PLANE_ERRORS, 'FileEdited', 'FileNotWritable', 'SaveImpossible', 'NotTransactional', 'StoreFull', 'StoreUnavailable'],
} as const;

/** The configuration as a whole, over HTTP: `/v1/config/`. The data plane knows what a call means. */
@controlModule({ name: 'srv_http_config_api_module', api: 1, key: 'config', dataModule: 'srv_http_config_module' })
export class ConfigurationApi {
  constructor(
    private readonly dataPlane: DataPlane,
    private readonly routes: ApiRoutes,
  ) {}

  @route('GET', '', keys)
  keys(): Reply {
    const { settings } = this.routes;
    return { status: 200, body: settings, version: contentVersion(settings) };
  }

  @route('GET', '/effective', effective)
  async effective({ query, ...call }: Call<typeof effective>): Promise<Reply> {
    const asText = query.format === 'text';
    const reply = readReply(await this.dataPlane.call<Versioned>('config.effective', { asText }, call));
    return asText ? { ...reply, type: 'text/plain' } : reply;
  }

  @route('GET', '/drift', drift)
  async drift(call: Call): Promise<Reply> {
    return readReply(await this.dataPlane.call<Versioned>('config.drift', {}, call));
  }

  @route('POST', '/save', save)
  async save(call: Call): Promise<Reply> {
    return writeReply(call, await this.dataPlane.call<Versioned>('config.save', {}, call));
  }
}

/** The list has no version of its own: it follows from the modules of the control plane. */
function contentVersion(keys: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(keys)).digest('hex').slice(0, 16);
}
