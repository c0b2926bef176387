import { action, ApiError, dryRunReply, route, type ActionContext, type Call, type Reply } from '../core/module/control.js';
import { controlModule, coreModule } from '../core/module/manifest.js';
import { ServerStatus } from '../core/module/server-status.js';
import { DataPlane, ServerInfo, Statistics } from '../core/module/services.js';
import { readReply, writeReply, type Versioned } from '../core/module/versioned.js';
import { plusError } from './srv_http_plus_api_module/errors.js';
import { PlusFigures, RESETTABLE, type Resettable } from './srv_http_plus_api_module/figures.js';
import { assertZone, Keyvals, ZONE } from './srv_http_plus_api_module/keyvals.js';
import * as schemas from './srv_http_plus_api_module/schemas.js';
import { select, selectEach } from './srv_http_plus_api_module/select.js';

const NAME = 'srv_http_plus_api_module';
const VERSION = 9;

/** First parts of paths below `/9/`, and below `/9/http/`. */
const ENDPOINTS = ['nginx', 'processes', 'connections', 'slabs', 'http', 'resolvers', 'ssl', 'workers'];
const HTTP_ENDPOINTS = ['requests', 'server_zones', 'location_zones', 'caches', 'limit_conns', 'limit_reqs', 'keyvals', 'upstreams'];

/** The API of NGINX Plus, version 9, for the clients that it has (docs/plus-api.md). This half has the figures of the data plane. */
@coreModule({ name: NAME, api: 1, plane: 'data' })
export class PlusData {
  readonly #figures: PlusFigures;

  constructor(statistics: Statistics, status: ServerStatus, info: ServerInfo) {
    this.#figures = new PlusFigures(statistics, status, info);
  }

  @action('plus.read')
  read({ what }: { readonly what: keyof PlusFigures }): unknown {
    return this.#figures[what];
  }

  @action('plus.reset')
  reset({ what }: { readonly what: Resettable }, { dryRun }: ActionContext): void {
    if (RESETTABLE.includes(what) && !dryRun) this.#figures.reset(what);
  }
}

type ZoneKind = 'server' | 'location';
type ReadCall = Call<typeof schemas.read>;
type Upstream = Readonly<Record<string, unknown>> & { readonly name: string };

/**
 * The calls of version 9 of NGINX Plus's API, below `/9/`, for the clients that it has: those about upstreams, key-value pairs and figures that
 * are counted. What NGINX Plus has and srv does not, is there and empty.
 */
@controlModule({ name: NAME, api: 1, key: 'plus', root: '' })
export class PlusApi {
  readonly #keyvals: Keyvals;

  constructor(private readonly dataPlane: DataPlane) {
    this.#keyvals = new Keyvals(dataPlane);
  }

  @route('GET', '', schemas.read)
  versions(): Reply {
    return { status: 200, body: [VERSION] };
  }

  @route('GET', '/9', schemas.read)
  endpoints(): Reply {
    return { status: 200, body: ENDPOINTS };
  }

  @route('GET', '/9/http', schemas.read)
  httpEndpoints(): Reply {
    return { status: 200, body: HTTP_ENDPOINTS };
  }

  @route('GET', '/9/nginx', schemas.read)
  nginx(call: ReadCall): Promise<Reply> {
    return this.#figures('nginx', call);
  }

  @route('GET', '/9/processes', schemas.read)
  processes(call: ReadCall): Promise<Reply> {
    return this.#figures('processes', call);
  }

  @route('DELETE', '/9/processes', schemas.reset)
  resetProcesses(call: Call): Promise<Reply> {
    return this.#reset('processes', call);
  }

  @route('GET', '/9/connections', schemas.read)
  connections(call: ReadCall): Promise<Reply> {
    return this.#figures('connections', call);
  }

  @route('DELETE', '/9/connections', schemas.reset)
  resetConnections(call: Call): Promise<Reply> {
    return this.#reset('connections', call);
  }

  @route('GET', '/9/ssl', schemas.read)
  ssl(call: ReadCall): Promise<Reply> {
    return this.#figures('ssl', call);
  }

  @route('DELETE', '/9/ssl', schemas.reset)
  resetSsl(call: Call): Promise<Reply> {
    return this.#reset('ssl', call);
  }

  @route('GET', '/9/http/requests', schemas.read)
  requests(call: ReadCall): Promise<Reply> {
    return this.#figures('requests', call);
  }

  @route('DELETE', '/9/http/requests', schemas.reset)
  resetRequests(call: Call): Promise<Reply> {
    return this.#reset('requests', call);
  }

  @route('GET', '/9/slabs', schemas.read)
  async slabs(call: ReadCall): Promise<Reply> {
    return { status: 200, body: selectEach(await this.#slabs(call), call.query.fields) };
  }

  @route('GET', '/9/slabs/:zone', schemas.read)
  async slab(call: ReadCall): Promise<Reply> {
    const { zone = '' } = call.params;
    const found = new Map(Object.entries(await this.#slabs(call))).get(zone);
    if (found === undefined) throw plusError('SlabNotFound', `slab "${zone}" not found`);
    return { status: 200, body: select(found, call.query.fields) };
  }

  @route('GET', '/9/workers', schemas.read)
  async workers(call: ReadCall): Promise<Reply> {
    const { fields } = call.query;
    return { status: 200, body: (await this.#workers(call)).map((worker) => select(worker, fields)) };
  }

  @route('GET', '/9/workers/:id', schemas.read)
  async worker(call: ReadCall): Promise<Reply> {
    const { id = '' } = call.params;
    const found = (await this.#workers(call)).find((worker) => String(worker.id) === id);
    if (found === undefined) throw plusError('WorkerNotFound', `worker "${id}" not found`);
    return { status: 200, body: select(found, call.query.fields) };
  }

  @route('GET', '/9/resolvers', schemas.read)
  resolvers(call: ReadCall): Reply {
    return none(call);
  }

  @route('GET', '/9/http/server_zones', schemas.read)
  serverZones(call: ReadCall): Promise<Reply> {
    return this.#zones('server', call);
  }

  @route('GET', '/9/http/server_zones/:zone', schemas.read)
  serverZone(call: ReadCall): Promise<Reply> {
    return this.#zone('server', call);
  }

  @route('DELETE', '/9/http/server_zones/:zone', schemas.reset)
  resetServerZone(call: Call): Promise<Reply> {
    return this.#resetZone('server', call);
  }

  @route('GET', '/9/http/location_zones', schemas.read)
  locationZones(call: ReadCall): Promise<Reply> {
    return this.#zones('location', call);
  }

  @route('GET', '/9/http/location_zones/:zone', schemas.read)
  locationZone(call: ReadCall): Promise<Reply> {
    return this.#zone('location', call);
  }

  @route('DELETE', '/9/http/location_zones/:zone', schemas.reset)
  resetLocationZone(call: Call): Promise<Reply> {
    return this.#resetZone('location', call);
  }

  @route('GET', '/9/http/caches', schemas.read)
  caches(call: ReadCall): Reply {
    return none(call);
  }

  @route('GET', '/9/http/limit_conns', schemas.read)
  limitConns(call: ReadCall): Reply {
    return none(call);
  }

  @route('GET', '/9/http/limit_reqs', schemas.read)
  limitReqs(call: ReadCall): Reply {
    return none(call);
  }

  @route('GET', '/9/http/upstreams', schemas.listUpstreams)
  async upstreams({ query, ...call }: ReadCall): Promise<Reply> {
    const { value } = await this.dataPlane.call<Versioned<readonly Upstream[]>>('upstream.list', {}, call);
    return { status: 200, body: selectEach(Object.fromEntries(value.map(({ name, ...shown }) => [name, shown])), query.fields) };
  }

  @route('GET', '/9/http/upstreams/:upstream', schemas.readUpstream)
  async upstream({ query, ...call }: ReadCall): Promise<Reply> {
    const { value } = await this.dataPlane.call<Versioned<Upstream>>('upstream.get', call.params, call);
    const { name: _name, ...shown } = value;
    return { status: 200, body: select(shown, query.fields) };
  }

  @route('DELETE', '/9/http/upstreams/:upstream', schemas.resetUpstream)
  async resetUpstream(call: Call): Promise<Reply> {
    await this.dataPlane.call('upstream.reset', call.params, call);
    return doneReply(call, []);
  }

  @route('GET', '/9/http/upstreams/:upstream/servers', schemas.readUpstream)
  async servers(call: ReadCall): Promise<Reply> {
    return readReply(await this.dataPlane.call<Versioned>('upstream.members', call.params, call));
  }

  @route('GET', '/9/http/upstreams/:upstream/servers/:id', schemas.readUpstream)
  async server(call: ReadCall): Promise<Reply> {
    return readReply(await this.dataPlane.call<Versioned>('upstream.member', call.params, call));
  }

  @route('POST', '/9/http/upstreams/:upstream/servers', schemas.addServer)
  async addServer({ body, ...call }: Call<typeof schemas.addServer>): Promise<Reply> {
    const reply = await this.#write('upstream.add', { ...call.params, fields: body }, call);
    return call.dryRun ? reply : { ...reply, status: 201 };
  }

  @route('PATCH', '/9/http/upstreams/:upstream/servers/:id', schemas.changeServer)
  changeServer({ body, ...call }: Call<typeof schemas.changeServer>): Promise<Reply> {
    return this.#write('upstream.change', { ...call.params, fields: body }, call);
  }

  @route('DELETE', '/9/http/upstreams/:upstream/servers/:id', schemas.removeServer)
  removeServer(call: Call): Promise<Reply> {
    return this.#write('upstream.remove', { ...call.params, minimal: call.minimal }, call);
  }

  @route('GET', '/9/http/keyvals', schemas.readKeyvals)
  async zones(call: Call<typeof schemas.readKeyvals>): Promise<Reply> {
    if (call.query.fields === '') return { status: 200, body: [ZONE] };
    return { status: 200, body: { [ZONE]: await this.#keyvals.all(call) } };
  }

  @route('GET', '/9/http/keyvals/:zone', schemas.readKeyvals)
  async zone(call: Call<typeof schemas.readKeyvals>): Promise<Reply> {
    assertZone(call.params['zone']);
    const { key } = call.query;
    const body = key === undefined ? await this.#keyvals.all(call) : { [key]: await this.#keyvals.get(key, call) };
    return { status: 200, body };
  }

  @route('POST', '/9/http/keyvals/:zone', schemas.addKeyval)
  async addKeyval({ body, ...call }: Call<typeof schemas.addKeyval>): Promise<Reply> {
    assertZone(call.params['zone']);
    await this.#keyvals.add(body, { ...call, body: undefined });
    return call.dryRun ? dryRunReply(Object.keys(body).map((key) => `+ ${key}`)) : { status: 201 };
  }

  @route('PATCH', '/9/http/keyvals/:zone', schemas.changeKeyval)
  async changeKeyval({ body, ...call }: Call<typeof schemas.changeKeyval>): Promise<Reply> {
    assertZone(call.params['zone']);
    await this.#keyvals.change(body, { ...call, body: undefined });
    return doneReply(
      call,
      Object.entries(body).map(([key, value]) => `${value === null ? '-' : '+'} ${key}`),
    );
  }

  @route('DELETE', '/9/http/keyvals/:zone', schemas.clearKeyvals)
  async clearKeyvals(call: Call): Promise<Reply> {
    assertZone(call.params['zone']);
    await this.#keyvals.clear(call);
    return doneReply(call, ['- all keys']);
  }

  async #figures(what: keyof PlusFigures, { query, ...call }: ReadCall): Promise<Reply> {
    return { status: 200, body: select(await this.dataPlane.call<object>('plus.read', { what }, call), query.fields) };
  }

  async #reset(what: Resettable, call: Call): Promise<Reply> {
    await this.dataPlane.call('plus.reset', { what }, call);
    return doneReply(call, []);
  }

  async #zones(kind: ZoneKind, { query, ...call }: ReadCall): Promise<Reply> {
    return { status: 200, body: selectEach(await this.#zoneFigures(kind, call), query.fields) };
  }

  async #zone(kind: ZoneKind, { query, ...call }: ReadCall): Promise<Reply> {
    const { zone = '' } = call.params;
    const found = new Map(Object.entries(await this.#zoneFigures(kind, call))).get(zone);
    if (found === undefined) throw zoneNotFound(kind, zone);
    return { status: 200, body: select(found, query.fields) };
  }

  async #resetZone(kind: ZoneKind, call: Call): Promise<Reply> {
    const { zone = '' } = call.params;
    if (!(await this.dataPlane.call<boolean>('status_zones.reset', { kind, zone }, call))) throw zoneNotFound(kind, zone);
    return doneReply(call, []);
  }

  /** Empty where the module that counts is not loaded. */
  async #zoneFigures(kind: ZoneKind, call: ActionContext): Promise<Readonly<Record<string, object>>> {
    try {
      return await this.dataPlane.call('status_zones.read', { kind }, call);
    } catch (error) {
      if (error instanceof ApiError && error.code === 'NotLoaded') return {};
      throw error;
    }
  }

  #slabs(call: ActionContext): Promise<Readonly<Record<string, object>>> {
    return this.dataPlane.call('plus.read', { what: 'slabs' }, call);
  }

  #workers(call: ActionContext): Promise<readonly { readonly id: number }[]> {
    return this.dataPlane.call('plus.read', { what: 'workers' }, call);
  }

  async #write(what: string, params: unknown, call: ActionContext): Promise<Reply> {
    return writeReply(call, await this.dataPlane.call<Versioned>(what, params, call));
  }
}

function zoneNotFound(kind: ZoneKind, zone: string): ApiError {
  return plusError(kind === 'server' ? 'ServerZoneNotFound' : 'LocationZoneNotFound', `${kind} zone "${zone}" not found`);
}

/** Something of which there is nothing in srv, by name. */
function none({ query }: ReadCall): Reply {
  return { status: 200, body: query.fields === '' ? [] : {} };
}

function doneReply({ dryRun }: ActionContext, diff: readonly string[]): Reply {
  return dryRun ? dryRunReply(diff) : { status: 204 };
}
