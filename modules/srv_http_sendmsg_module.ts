import { ApiError, DATA_PLANE_ERRORS, dryRunReply, route, type Call, type Reply } from '../core/module/control.js';
import type { HttpHandlers, LocationScope } from '../core/module/http.js';
import { controlModule, type HttpModule } from '../core/module/manifest.js';
import { ApiRoutes, DataPlane } from '../core/module/services.js';
import { directive } from '../core/module/spec.js';
import { duration, durationOf, Type, type Static } from '../core/module/schema.js';

const directives = {
  dyn_sendmsg_kv: directive({ in: ['location'], inherit: 'none', doc: 'The key-value API lies at this location as well.' }),
};

const Key = Type.String({ minLength: 1, description: 'Any text; up to 1 KiB in UTF-8.' });
const Pair = Type.Object({
  key: Key,
  value: Type.String({ description: 'Any text; up to 1 MiB in UTF-8. Empty is a value.' }),
  ttl: Type.Optional(duration()),
});
const Question = Type.Object({
  key: Type.Optional(Key),
  prefix: Type.Optional(Type.String()),
  after: Type.Optional(Type.String()),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
});
const Value = Type.String({ contentMediaType: 'text/plain', description: 'The value of `key`, as it is.' });
const Pairs = Type.Array(Type.Object({ key: Type.String(), value: Type.String() }), {
  description: 'The pairs, where no `key` is asked for.',
});

const get = {
  summary: 'The value of a key, or the pairs whose keys start with a prefix',
  query: Question,
  answers: { 200: [Value, Pairs] },
  errors: [...DATA_PLANE_ERRORS, 'KeyNotFound'],
} as const;
const post = {
  summary: 'Sets a key',
  body: Pair,
  creates: true,
  answers: { 200: null },
  errors: [...DATA_PLANE_ERRORS, 'KeyTooLong', 'ValueTooLarge', 'StoreFull'],
} as const;
const remove = {
  summary: 'Deletes a key',
  query: Type.Object({ key: Key }),
  answers: { 200: null },
  errors: [...DATA_PLANE_ERRORS, 'KeyNotFound', 'StoreFull'],
} as const;

/** Pairs in one answer, where the caller does not say. */
const PAGE = 100;

/** The key-value API (`/v1/kv`). Pairs are kept by the data plane, on disk and in the memory of every worker. */
@controlModule({ name: 'srv_http_sendmsg_module', api: 1, key: 'kv', directives })
export class KeyValueApi implements HttpModule {
  constructor(
    private readonly dataPlane: DataPlane,
    private readonly routes: ApiRoutes,
  ) {}

  compile(scope: LocationScope<typeof directives>): HttpHandlers | undefined {
    if (scope.conf.dyn_sendmsg_kv !== true) return undefined;
    return { content: this.routes.content({ scope, root: '/v1/kv', allows: () => true }), limitsBody: true };
  }

  @route('GET', '', get)
  async get({ query, ...call }: Call<typeof get>): Promise<Reply> {
    const { key, prefix = '', after = '', limit = PAGE } = query;
    if (key === undefined) return { status: 200, body: await this.dataPlane.call('kv.list', { prefix, after, limit }, call) };
    assertAlone(query);
    const { value, version } = await this.dataPlane.call<{ value: string; version: string }>('kv.get', { key }, call);
    return { status: 200, body: value, type: 'text/plain', version };
  }

  @route('POST', '', post)
  async set({ body, ...call }: Call<typeof post>): Promise<Reply> {
    const ttl = body.ttl === undefined ? 0 : durationOf(body.ttl, '/ttl');
    const { version } = await this.dataPlane.call<{ version: string }>('kv.set', { key: body.key, value: body.value, ttl }, call);
    return call.dryRun ? dryRunReply([`+ ${body.key}`]) : { status: 200, version };
  }

  @route('DELETE', '', remove)
  async delete({ query, ...call }: Call<typeof remove>): Promise<Reply> {
    await this.dataPlane.call('kv.delete', { key: query.key }, call);
    return call.dryRun ? dryRunReply([`- ${query.key}`]) : { status: 200 };
  }
}

/** A call asks for a key or for a list. @throws ApiError 400 */
function assertAlone(query: Static<typeof Question>): void {
  const others = Object.keys(query).filter((name) => name !== 'key');
  if (others.length === 0) return;
  const message = 'cannot stand beside key';
  throw new ApiError(
    400,
    'InvalidField',
    `?${others.join(', ?')}: ${message}`,
    others.map((name) => ({ pointer: `?${name}`, message })),
  );
}
