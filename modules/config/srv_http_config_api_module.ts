import { DATA_PLANE_ERRORS, route, type Call, type Reply } from '../core/module/control.js';
import { controlModule } from '../core/module/manifest.js';
import { Type } from '../core/module/schema.js';
import { ApiRoutes, DataPlane } from '../core/module/services.js';
import { readReply, writeReply, type Versioned } from '../core/module/versioned.js';

const Text = Type.String({ contentMediaType: 'text/plain', description: 'With `?format=text`: the configuration as text.' });
const Tree = Type.Array(
  Type.Object(
    { directive: Type.String(), args: Type.Array(Type.String()), block: Type.Optional(Type.Array(Type.Any())) },
    { title: 'Directive', description: 'A directive; those in its `block` have the same form.' },
  ),
);

const effective = {
  summary: 'The configuration in force: the files with the changes of the API',
  query: Type.Object({ format: Type.Optional(Type.Enum(['json', 'text'])) }),
  responses: { 200: [Text, Tree] },
  headers: ['ETag'],
  errors: DATA_PLANE_ERRORS,
} as const;
const drift = {
  summary: 'The difference between the configuration files and what is in force',
  responses: { 200: Type.Object({ diff: Type.Array(Type.String()) }, { title: 'Drift' }) },
  headers: ['ETag'],
  errors: DATA_PLANE_ERRORS,
} as const;

const keys = {
  summary: 'List the keys of settings, each with a path of its own',
  responses: { 200: Type.Array(Type.String()) },
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
@controlModule({ name: 'srv_http_config_api_module', api: 1, key: 'config' })
export class ConfigurationApi {
  constructor(
    private readonly dataPlane: DataPlane,
    private readonly routes: ApiRoutes,
  ) {}

  @route('GET', '', keys)
  keys(): Reply {
    return { status: 200, body: this.routes.settings };
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
