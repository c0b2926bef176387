import { ApiError, DATA_PLANE_ERRORS, dryRunReply, route, type ActionContext, type Call, type Reply } from '../../core/contract/control.js';
import type { HttpHandlers, LocationScope } from '../../core/contract/http.js';
import { controlModule, type HttpModule } from '../../core/contract/manifest.js';
import { ApiRoutes } from '../../core/contract/api-routes.js';
import { DataPlane } from '../../core/contract/data-plane.js';
import { directive } from '../../core/contract/spec.js';
import { duration, durationOf, durationText, Type, type Static } from '../../core/contract/schema.js';

const directives = {
  dyn_sendmsg_kv: directive({ in: ['location'], inherit: 'none', doc: 'Serves the key-value API at this location as well.' }),
};

const Key = Type.String({ minLength: 1, description: 'Any text; up to 1 KiB in UTF-8.' });
const Value = Type.String({ description: 'Any text; up to 1 MiB in UTF-8. Empty is a value.' });
const ttl = Type.Optional(duration());
const NewPair = Type.Object({ key: Key, value: Value, ttl }, { title: 'NewPair' });
const NewValue = Type.Object({ value: Value, ttl }, { title: 'NewValue' });
const Question = Type.Object({
  key: Type.Optional(Key),
  prefix: Type.Optional(Type.String()),
  after: Type.Optional(Type.String({ description: 'Key that the page before ended with.' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: 'Pairs of the page; 1 MiB of pairs end it earlier.' })),
});
const PlainValue = Type.String({ contentMediaType: 'text/plain', description: 'The value of `key`, as it is.' });
const Pairs = Type.Array(Type.Object({ key: Type.String(), value: Type.String() }, { title: 'Pair' }), {
  description: 'The pairs, without the parameter `key`.',
});
const KeyState = Type.Object(
  {
    key: Type.String(),
    value: Type.String(),
    ttl: Type.String({ description: 'Time until the key expires; `0s`: never.' }),
    version: Type.String(),
  },
  { title: 'KeyState' },
);

const WRITE_ERRORS = [...DATA_PLANE_ERRORS, 'KeyTooLong', 'ValueTooLarge', 'StoreFull'] as const;
const get = {
  summary: 'Get the value of a key, or list the pairs whose keys start with a prefix',
  query: Question,
  responses: { 200: [PlainValue, Pairs] },
  headers: ['ETag', 'Link'],
  errors: [...DATA_PLANE_ERRORS, 'KeyNotFound'],
} as const;
const post = {
  summary: 'Set a key',
  dryRun: true,
  body: NewPair,
  creates: true,
  responses: { 200: null },
  headers: ['ETag'],
  errors: WRITE_ERRORS,
} as const;
const remove = {
  summary: 'Delete a key',
  dryRun: true,
  query: Type.Object({ key: Key }),
  responses: { 200: null },
  errors: [...DATA_PLANE_ERRORS, 'KeyNotFound', 'StoreFull'],
} as const;
const getKey = {
  summary: 'Get a key with its value, remaining time and version',
  responses: { 200: KeyState },
  headers: ['ETag'],
  errors: [...DATA_PLANE_ERRORS, 'KeyNotFound'],
} as const;
const putKey = {
  summary: 'Set a key that the path names',
  dryRun: true,
  body: NewValue,
  creates: true,
  responses: { 200: null },
  headers: ['ETag'],
  errors: WRITE_ERRORS,
} as const;
const removeKey = {
  summary: 'Delete a key that the path names',
  dryRun: true,
  responses: { 200: null },
  errors: [...DATA_PLANE_ERRORS, 'KeyNotFound', 'StoreFull'],
} as const;

/** Pairs of one page, where the caller does not say. */
const PAGE = 100;

interface KeyStateOfPlane {
  readonly value: string;
  readonly version: string;
  /** Milliseconds until it expires; 0: never. */
  readonly ttl: number;
}
interface PairPage {
  readonly pairs: readonly { readonly key: string }[];
  readonly more: boolean;
  readonly version: string;
}

/** The key-value API (`/v1/kv`). The data plane stores pairs on disk and in the memory of every worker. */
@controlModule({ name: 'srv_http_sendmsg_module', api: 1, key: 'kv', dataModule: 'srv_http_kv_module', directives })
export class KeyValueApi implements HttpModule {
  constructor(
    private readonly dataPlane: DataPlane,
    private readonly routes: ApiRoutes,
  ) {}

  compile(scope: LocationScope<typeof directives>): HttpHandlers | undefined {
    if (scope.conf.dyn_sendmsg_kv !== true || scope.directive === undefined) return undefined;
    return this.routes.location({ scope, root: '/v1/kv' });
  }

  @route('GET', '', get)
  async get({ query, ...call }: Call<typeof get>): Promise<Reply> {
    const { key, prefix = '', after = '', limit = PAGE } = query;
    if (key === undefined) {
      const { pairs, more, version } = await this.dataPlane.call<PairPage>('kv.list', { prefix, after, limit }, call);
      const last = pairs.at(-1);
      return { status: 200, body: pairs, version, ...(more && last && { next: last.key }) };
    }
    assertAlone(query);
    const { value, version } = await this.#state(key, call);
    return { status: 200, body: value, type: 'text/plain', version };
  }

  @route('POST', '', post)
  set({ body: { key, ...pair }, ...call }: Call<typeof post>): Promise<Reply> {
    return this.#set(key, pair, call);
  }

  @route('DELETE', '', remove)
  delete({ query, ...call }: Call<typeof remove>): Promise<Reply> {
    return this.#delete(query.key, call);
  }

  @route('GET', '/keys/:key', getKey)
  async getKey({ params, ...call }: Call<typeof getKey>): Promise<Reply> {
    const { key = '' } = params;
    const { value, version, ttl } = await this.#state(key, call);
    return { status: 200, body: { key, value, ttl: durationText(ttl), version }, version };
  }

  @route('PUT', '/keys/:key', putKey)
  setKey({ params, body, ...call }: Call<typeof putKey>): Promise<Reply> {
    return this.#set(params['key'] ?? '', body, call);
  }

  @route('DELETE', '/keys/:key', removeKey)
  deleteKey({ params, ...call }: Call<typeof removeKey>): Promise<Reply> {
    return this.#delete(params['key'] ?? '', call);
  }

  #state(key: string, call: ActionContext): Promise<KeyStateOfPlane> {
    return this.dataPlane.call('kv.get', { key }, call);
  }

  async #set(key: string, { value, ttl = 0 }: Static<typeof NewValue>, call: ActionContext): Promise<Reply> {
    const params = { key, value, ttl: durationOf(ttl, '/ttl') };
    const { version } = await this.dataPlane.call<{ version: string }>('kv.set', params, call);
    return call.dryRun ? dryRunReply([`+ ${key}`]) : { status: 200, version };
  }

  async #delete(key: string, call: ActionContext): Promise<Reply> {
    await this.dataPlane.call('kv.delete', { key }, call);
    return call.dryRun ? dryRunReply([`- ${key}`]) : { status: 200 };
  }
}

/** A call gets a key or a list. @throws ApiError 400 */
function assertAlone(query: Static<typeof Question>): void {
  const others = Object.keys(query).filter((name) => name !== 'key');
  if (others.length === 0) return;
  const message = 'not allowed together with "key"';
  throw new ApiError(
    400,
    'InvalidField',
    `?${others.join(', ?')}: ${message}`,
    others.map((name) => ({ pointer: `?${name}`, message })),
  );
}
