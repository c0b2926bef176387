import { ApiError, type ActionContext, type Call, type Reply } from '../../core/contract/control.js';
import type { DataPlane } from '../../core/contract/data-plane.js';
import { plusError } from './errors.js';
import * as schemas from './schemas.js';
import { select, selectEach } from './select.js';
import { doneReply, served } from './served.js';

type ReadCall = Call<typeof schemas.read>;

/** Actions of the modules that count, and what is not found where they do not know a zone. */
const SOURCES = {
  cache: { read: 'cache.plus_zones', reset: 'cache.plus_reset', missing: 'CacheNotFound', noun: 'cache' },
  limitReq: { read: 'limit_req.zones', reset: 'limit_req.reset', missing: 'LimitReqNotFound', noun: 'limit_req zone' },
  limitConn: { read: 'limit_conn.zones', reset: 'limit_conn.reset', missing: 'LimitConnNotFound', noun: 'limit_conn zone' },
  streamLimitConn: {
    read: 'stream_limit_conn.zones',
    reset: 'stream_limit_conn.reset',
    missing: 'LimitConnNotFound',
    noun: 'limit_conn zone',
  },
  resolver: { read: 'plus.read', reset: 'plus.reset_resolver', missing: 'ResolverZoneNotFound', noun: 'resolver zone' },
} as const;
type Source = keyof typeof SOURCES;

/** Routes of figures by the name of a zone, which other modules count: caches, limits, resolvers. */
export abstract class CountedZones {
  protected abstract readonly dataPlane: DataPlane;

  @served('GET', '/http/caches', schemas.read)
  caches(call: ReadCall): Promise<Reply> {
    return this.#all('cache', call);
  }

  @served('GET', '/http/caches/:zone', schemas.read)
  cache(call: ReadCall): Promise<Reply> {
    return this.#one('cache', call);
  }

  @served('DELETE', '/http/caches/:zone', schemas.reset)
  resetCache(call: Call): Promise<Reply> {
    return this.#reset('cache', call);
  }

  @served('GET', '/http/limit_reqs', schemas.read)
  limitReqs(call: ReadCall): Promise<Reply> {
    return this.#all('limitReq', call);
  }

  @served('GET', '/http/limit_reqs/:zone', schemas.read)
  limitReq(call: ReadCall): Promise<Reply> {
    return this.#one('limitReq', call);
  }

  @served('DELETE', '/http/limit_reqs/:zone', schemas.reset)
  resetLimitReq(call: Call): Promise<Reply> {
    return this.#reset('limitReq', call);
  }

  @served('GET', '/http/limit_conns', schemas.read)
  limitConns(call: ReadCall): Promise<Reply> {
    return this.#all('limitConn', call);
  }

  @served('GET', '/http/limit_conns/:zone', schemas.read)
  limitConn(call: ReadCall): Promise<Reply> {
    return this.#one('limitConn', call);
  }

  @served('DELETE', '/http/limit_conns/:zone', schemas.reset)
  resetLimitConn(call: Call): Promise<Reply> {
    return this.#reset('limitConn', call);
  }

  @served('GET', '/stream/limit_conns', schemas.read)
  streamLimitConns(call: ReadCall): Promise<Reply> {
    return this.#all('streamLimitConn', call);
  }

  @served('GET', '/stream/limit_conns/:zone', schemas.read)
  streamLimitConn(call: ReadCall): Promise<Reply> {
    return this.#one('streamLimitConn', call);
  }

  @served('DELETE', '/stream/limit_conns/:zone', schemas.reset)
  resetStreamLimitConn(call: Call): Promise<Reply> {
    return this.#reset('streamLimitConn', call);
  }

  @served('GET', '/resolvers', schemas.read)
  resolvers(call: ReadCall): Promise<Reply> {
    return this.#all('resolver', call);
  }

  @served('GET', '/resolvers/:zone', schemas.read)
  resolver(call: ReadCall): Promise<Reply> {
    return this.#one('resolver', call);
  }

  @served('DELETE', '/resolvers/:zone', schemas.reset)
  resetResolver(call: Call): Promise<Reply> {
    return this.#reset('resolver', call);
  }

  async #all(source: Source, { query, ...call }: ReadCall): Promise<Reply> {
    return { status: 200, body: selectEach(await this.#figures(source, call), query.fields) };
  }

  async #one(source: Source, { query, ...call }: ReadCall): Promise<Reply> {
    const { zone = '' } = call.params;
    const found = new Map(Object.entries(await this.#figures(source, call))).get(zone);
    if (found === undefined) throw notFound(source, zone);
    return { status: 200, body: select(found, query.fields) };
  }

  async #reset(source: Source, call: Call): Promise<Reply> {
    const { zone = '' } = call.params;
    const isThere = await ifLoaded(this.dataPlane.call<boolean>(SOURCES[source].reset, { zone }, call), false);
    if (!isThere) throw notFound(source, zone);
    return doneReply(call, []);
  }

  /** Empty where the module that counts is not loaded. */
  #figures(source: Source, call: ActionContext): Promise<Readonly<Record<string, object>>> {
    const params = source === 'resolver' ? { what: 'resolvers' } : {};
    return ifLoaded(this.dataPlane.call<Readonly<Record<string, object>>>(SOURCES[source].read, params, call), {});
  }
}

async function ifLoaded<T>(reply: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await reply;
  } catch (error) {
    if (error instanceof ApiError && error.code === 'NotLoaded') return otherwise;
    throw error;
  }
}

function notFound(source: Source, zone: string): ApiError {
  const { missing, noun } = SOURCES[source];
  return plusError(missing, `${noun} "${zone}" not found`);
}
