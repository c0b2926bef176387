import { ApiError, DATA_PLANE_ERRORS, dryRunReply, route, type Call, type Reply } from '../../core/contract/control.js';
import { DataPlane } from '../../core/contract/data-plane.js';
import { controlModule } from '../../core/contract/manifest.js';
import { Type } from '../../core/contract/schema.js';

const Count = Type.Integer({ minimum: 0 });
const Zone = Type.Object(
  {
    name: Type.String(),
    path: Type.String({ description: 'The folder.' }),
    size: Type.Integer({ minimum: 0, description: 'Bytes of the files.' }),
    max_size: Type.Integer({ minimum: 0, description: 'Most bytes of the files; 0: no limit.' }),
    memory: Type.Integer({ minimum: 0, description: 'Bytes of the index in shared memory.' }),
    entries: Type.Integer({ minimum: 0, description: 'Stored responses.' }),
    loaded: Type.Boolean({ description: 'The files that were there at the start are counted.' }),
    hits: Count,
    misses: Count,
    stale: Count,
    updating: Count,
    revalidated: Count,
    expired: Count,
    bypass: Count,
    bytes: Type.Integer({ minimum: 0, description: 'Bytes of bodies that clients got from the cache.' }),
    member_bytes: Type.Integer({ minimum: 0, description: 'Bytes of bodies that clients got from members.' }),
    kept: Type.Integer({ minimum: 0, description: 'Responses in memory (`memory` of `proxy_cache_path`).' }),
    kept_bytes: Type.Integer({ minimum: 0, description: 'Bytes of their files.' }),
  },
  { title: 'CacheZone' },
);
const Entry = Type.Object(
  {
    key: Type.String(),
    status: Type.Integer(),
    age: Type.Integer({ minimum: 0, description: 'Seconds since it was stored or renewed.' }),
    fresh: Type.Integer({ minimum: 0, description: 'Seconds for which it is fresh; 0: it is stale.' }),
    bytes: Type.Integer({ minimum: 0, description: 'Bytes of the body.' }),
    vary: Type.String({ description: 'The field Vary; such a response is one of several variants.' }),
    etag: Type.String(),
    tags: Type.Array(Type.String()),
  },
  { title: 'CacheEntry' },
);
const Purged = Type.Object(
  {
    purged: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
      description: 'Responses that were removed; null: they are not counted.',
    }),
  },
  { title: 'Purged' },
);

const Key = Type.String({ minLength: 1, maxLength: 16_384, description: 'A key, as `proxy_cache_key` makes it.' });
const Selection = Type.Object({
  key: Type.Optional(Key),
  prefix: Type.Optional(Type.String({ minLength: 1, maxLength: 16_384, description: 'How keys begin.' })),
  tag: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1024,
      pattern: String.raw`^[^\s,]+$`,
      description: 'A tag of responses.',
      'x-form': 'a tag without spaces and commas',
    }),
  ),
  soft: Type.Optional(Type.Enum(['1', 'true', '0', 'false', ''], { description: 'Responses become stale, and are not removed.' })),
});

const list = {
  summary: 'List the caches with their figures',
  responses: { 200: Type.Array(Zone) },
  errors: DATA_PLANE_ERRORS,
} as const;
const get = {
  summary: 'Get a cache with its figures',
  responses: { 200: Zone },
  errors: [...DATA_PLANE_ERRORS, 'CacheZoneNotFound'],
} as const;
const entry = {
  summary: 'Get the stored response of a key, without its body',
  query: Type.Object({ key: Key }),
  responses: { 200: Entry },
  errors: [...DATA_PLANE_ERRORS, 'CacheZoneNotFound', 'CacheEntryNotFound'],
} as const;
const purge = {
  summary: 'Purge stored responses: of a key, of keys with a prefix, with a tag, or all of them',
  dryRun: true,
  query: Selection,
  responses: { 200: Purged },
  errors: [...DATA_PLANE_ERRORS, 'CacheZoneNotFound', 'StoreFull', 'StoreUnavailable'],
} as const;

interface NamedZone {
  readonly name: string;
}

/** Caches by API (`/v1/cache`): their figures, stored responses, and purges. */
@controlModule({ name: 'srv_http_cache_api_module', api: 1, key: 'cache', dataModule: 'srv_http_cache_module' })
export class CacheApi {
  constructor(private readonly dataPlane: DataPlane) {}

  @route('GET', '', list)
  async list(call: Call<typeof list>): Promise<Reply> {
    return { status: 200, body: await this.dataPlane.call('cache.list', {}, call) };
  }

  @route('GET', '/:zone', get)
  async get({ params, ...call }: Call<typeof get>): Promise<Reply> {
    const { zone: name = '' } = params;
    const zones = await this.dataPlane.call<NamedZone[]>('cache.list', {}, call);
    const zone = zones.find((one) => one.name === name);
    if (zone === undefined) throw new ApiError(404, 'CacheZoneNotFound', `cache "${name}" not found`);
    return { status: 200, body: zone };
  }

  @route('GET', '/:zone/entries', entry)
  async entry({ params, query, ...call }: Call<typeof entry>): Promise<Reply> {
    return { status: 200, body: await this.dataPlane.call('cache.entry', { zone: params['zone'] ?? '', key: query.key }, call) };
  }

  @route('DELETE', '/:zone/entries', purge)
  async purge({ params, query, ...call }: Call<typeof purge>): Promise<Reply> {
    const { zone = '' } = params;
    const selection = selectionOf(query);
    const purged = await this.dataPlane.call<number | null>('cache.purge', { zone, ...selection }, call);
    return call.dryRun ? dryRunReply([`- ${zone} ${selection.kind} ${selection.text}`.trim()]) : { status: 200, body: { purged } };
  }
}

/** @throws ApiError 400 */
function selectionOf({ soft = '0', ...query }: Call<typeof purge>['query']): { kind: string; text: string; isSoft: boolean } {
  const [first, ...others] = Object.entries(query);
  const message = `not allowed together with "${first?.[0] ?? ''}"`;
  if (others.length > 0) {
    throw new ApiError(
      400,
      'InvalidField',
      `?${others.map(([name]) => name).join(', ?')}: ${message}`,
      others.map(([name]) => ({ pointer: `?${name}`, message })),
    );
  }
  const [kind, text] = first ?? ['all', ''];
  return { kind, text, isSoft: soft !== '0' && soft !== 'false' };
}
