import { ClientConnections, type ConnectionObserver } from '../../core/contract/client-connections.js';
import { action, ApiError, dryRunReply, route, type ActionContext, type Call, type Reply } from '../../core/contract/control.js';
import { controlModule, coreModule, type Lifecycle } from '../../core/contract/manifest.js';
import { ServerStatus } from '../../core/contract/server-status.js';
import { DataPlane } from '../../core/contract/data-plane.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { Metrics } from '../../core/contract/metrics.js';
import { Statistics } from '../../core/contract/statistics.js';
import type { EngineName } from '../../core/contract/spec.js';
import { readReply, writeReply, type Versioned } from '../../core/contract/versioned.js';
import { CountedZones } from './counted-zones.js';
import { plusError } from './errors.js';
import { PlusFigures, RESETTABLE, type Resettable } from './figures.js';
import { assertZone, Keyvals, ZONE } from './keyvals.js';
import { doneReply, served, VERSIONS } from './served.js';
import * as schemas from './schemas.js';
import { select, selectEach } from './select.js';

const NAME = 'srv_http_plus_api_module';

/** First parts of paths below `/9/`, below `/9/http/`, and below `/9/stream/`. */
const ENDPOINTS = ['nginx', 'processes', 'connections', 'slabs', 'http', 'stream', 'resolvers', 'ssl', 'workers'];
const HTTP_ENDPOINTS = ['requests', 'server_zones', 'location_zones', 'caches', 'limit_conns', 'limit_reqs', 'keyvals', 'upstreams'];
const STREAM_ENDPOINTS = ['server_zones', 'limit_conns', 'keyvals', 'upstreams'];

const NOTHING: ConnectionObserver = {
  accepted: () => undefined,
  rejected: () => undefined,
  closed: () => undefined,
  handshake: () => undefined,
  handshakeFailed: () => undefined,
};

/** The API of NGINX Plus, for its clients (docs/plus-api.md). This half has the figures of the data plane. */
@coreModule({ name: NAME, api: 1, plane: 'data' })
export class PlusData implements Lifecycle {
  readonly #figures: PlusFigures;

  constructor(
    statistics: Statistics,
    status: ServerStatus,
    info: ServerInfo,
    metrics: Metrics,
    private readonly connections: ClientConnections,
  ) {
    this.#figures = new PlusFigures(statistics, status, info, metrics);
  }

  start(role: string): void {
    if (role === 'worker') this.connections.observe({ ...NOTHING, handshakeFailed: (_, reason) => this.#figures.handshakeFailed(reason) });
  }

  @action('plus.read')
  read({ what }: { readonly what: Read }): unknown {
    return this.#figures[what];
  }

  /** @returns false if there is no such zone */
  @action('plus.reset_resolver')
  resetResolver({ zone }: { readonly zone: string }, { dryRun }: ActionContext): boolean {
    return this.#figures.resetResolver(zone, dryRun);
  }

  @action('plus.reset')
  reset({ what }: { readonly what: Resettable }, { dryRun }: ActionContext): void {
    if (RESETTABLE.includes(what) && !dryRun) this.#figures.reset(what);
  }
}

/** Figures that have no parameters. */
type Read = Exclude<keyof PlusFigures, 'reset' | 'resetResolver' | 'handshakeFailed'>;
type ZoneKind = 'server' | 'location' | 'stream server';
type ReadCall = Call<typeof schemas.read>;
type Upstream = Readonly<Record<string, unknown>> & { readonly name: string };

/**
 * The calls of NGINX Plus's API, below `/1/` to `/9/`, for its clients: upstreams, key-value pairs and statistics. Features of NGINX Plus
 * that srv does not have are present and empty.
 */
@controlModule({ name: NAME, api: 1, key: 'plus', dataModule: NAME, root: '' })
export class PlusApi extends CountedZones {
  readonly #keyvals: Keyvals;

  constructor(protected readonly dataPlane: DataPlane) {
    super();
    this.#keyvals = new Keyvals(dataPlane);
  }

  @route('GET', '', schemas.read)
  versions(): Reply {
    return { status: 200, body: VERSIONS };
  }

  @served('GET', '', schemas.read)
  endpoints(): Reply {
    return { status: 200, body: ENDPOINTS };
  }

  @served('GET', '/http', schemas.read)
  httpEndpoints(): Reply {
    return { status: 200, body: HTTP_ENDPOINTS };
  }

  @served('GET', '/nginx', schemas.read)
  nginx(call: ReadCall): Promise<Reply> {
    return this.#figures('nginx', call);
  }

  @served('GET', '/processes', schemas.read)
  processes(call: ReadCall): Promise<Reply> {
    return this.#figures('processes', call);
  }

  @served('DELETE', '/processes', schemas.reset)
  resetProcesses(call: Call): Promise<Reply> {
    return this.#reset('processes', call);
  }

  @served('GET', '/connections', schemas.read)
  connections(call: ReadCall): Promise<Reply> {
    return this.#figures('connections', call);
  }

  @served('DELETE', '/connections', schemas.reset)
  resetConnections(call: Call): Promise<Reply> {
    return this.#reset('connections', call);
  }

  @served('GET', '/ssl', schemas.read)
  ssl(call: ReadCall): Promise<Reply> {
    return this.#figures('ssl', call);
  }

  @served('DELETE', '/ssl', schemas.reset)
  resetSsl(call: Call): Promise<Reply> {
    return this.#reset('ssl', call);
  }

  @served('GET', '/http/requests', schemas.read)
  requests(call: ReadCall): Promise<Reply> {
    return this.#figures('requests', call);
  }

  @served('DELETE', '/http/requests', schemas.reset)
  resetRequests(call: Call): Promise<Reply> {
    return this.#reset('requests', call);
  }

  @served('GET', '/slabs', schemas.read)
  async slabs(call: ReadCall): Promise<Reply> {
    return { status: 200, body: selectEach(await this.#slabs(call), call.query.fields) };
  }

  @served('GET', '/slabs/:zone', schemas.read)
  async slab(call: ReadCall): Promise<Reply> {
    const { zone = '' } = call.params;
    const found = new Map(Object.entries(await this.#slabs(call))).get(zone);
    if (found === undefined) throw plusError('SlabNotFound', `slab "${zone}" not found`);
    return { status: 200, body: select(found, call.query.fields) };
  }

  @served('GET', '/workers', schemas.read)
  async workers(call: ReadCall): Promise<Reply> {
    const { fields } = call.query;
    return { status: 200, body: (await this.#workers(call)).map((worker) => select(worker, fields)) };
  }

  @served('DELETE', '/workers', schemas.reset)
  resetWorkers(call: Call): Promise<Reply> {
    return this.#reset('workers', call);
  }

  @served('GET', '/workers/:id', schemas.read)
  async worker(call: ReadCall): Promise<Reply> {
    const { id = '' } = call.params;
    const found = (await this.#workers(call)).find((worker) => String(worker.id) === id);
    if (found === undefined) throw plusError('WorkerNotFound', `worker "${id}" not found`);
    return { status: 200, body: select(found, call.query.fields) };
  }

  @served('GET', '/http/server_zones', schemas.read)
  serverZones(call: ReadCall): Promise<Reply> {
    return this.#zones('server', call);
  }

  @served('GET', '/http/server_zones/:zone', schemas.read)
  serverZone(call: ReadCall): Promise<Reply> {
    return this.#zone('server', call);
  }

  @served('DELETE', '/http/server_zones/:zone', schemas.reset)
  resetServerZone(call: Call): Promise<Reply> {
    return this.#resetZone('server', call);
  }

  @served('GET', '/http/location_zones', schemas.read)
  locationZones(call: ReadCall): Promise<Reply> {
    return this.#zones('location', call);
  }

  @served('GET', '/http/location_zones/:zone', schemas.read)
  locationZone(call: ReadCall): Promise<Reply> {
    return this.#zone('location', call);
  }

  @served('DELETE', '/http/location_zones/:zone', schemas.reset)
  resetLocationZone(call: Call): Promise<Reply> {
    return this.#resetZone('location', call);
  }

  @served('GET', '/http/upstreams', schemas.listUpstreams)
  upstreams(call: ReadCall): Promise<Reply> {
    return this.#upstreams('http', call);
  }

  @served('GET', '/http/upstreams/:upstream', schemas.readUpstream)
  upstream(call: ReadCall): Promise<Reply> {
    return this.#upstream('http', call);
  }

  @served('DELETE', '/http/upstreams/:upstream', schemas.resetUpstream)
  async resetUpstream(call: Call): Promise<Reply> {
    await this.dataPlane.call('upstream.reset', { ...call.params, engine: 'http' }, call);
    return doneReply(call, []);
  }

  @served('GET', '/http/upstreams/:upstream/servers', schemas.readUpstream)
  async servers(call: ReadCall): Promise<Reply> {
    return readReply(await this.dataPlane.call<Versioned>('upstream.members', { ...call.params, engine: 'http' }, call));
  }

  @served('GET', '/http/upstreams/:upstream/servers/:id', schemas.readUpstream)
  async server(call: ReadCall): Promise<Reply> {
    return readReply(await this.dataPlane.call<Versioned>('upstream.member', { ...call.params, engine: 'http' }, call));
  }

  @served('POST', '/http/upstreams/:upstream/servers', schemas.addServer)
  async addServer({ body, ...call }: Call<typeof schemas.addServer>): Promise<Reply> {
    const reply = await this.#write('upstream.add', { ...call.params, engine: 'http', fields: body }, call);
    return call.dryRun ? reply : { ...reply, status: 201 };
  }

  @served('PATCH', '/http/upstreams/:upstream/servers/:id', schemas.changeServer)
  changeServer({ body, ...call }: Call<typeof schemas.changeServer>): Promise<Reply> {
    return this.#write('upstream.change', { ...call.params, engine: 'http', fields: body }, call);
  }

  @served('DELETE', '/http/upstreams/:upstream/servers/:id', schemas.removeServer)
  removeServer(call: Call): Promise<Reply> {
    return this.#write('upstream.remove', { ...call.params, engine: 'http', minimal: call.minimal }, call);
  }

  @served('GET', '/stream', schemas.read)
  streamEndpoints(): Reply {
    return { status: 200, body: STREAM_ENDPOINTS };
  }

  @served('GET', '/stream/server_zones', schemas.read)
  streamServerZones(call: ReadCall): Promise<Reply> {
    return this.#zones('stream server', call);
  }

  @served('GET', '/stream/server_zones/:zone', schemas.read)
  streamServerZone(call: ReadCall): Promise<Reply> {
    return this.#zone('stream server', call);
  }

  @served('DELETE', '/stream/server_zones/:zone', schemas.reset)
  async resetStreamServerZone(call: Call): Promise<Reply> {
    const { zone = '' } = call.params;
    if (!(zone in (await this.#zoneFigures('stream server', call)))) throw zoneNotFound('stream server', zone);
    await this.dataPlane.call('vts.reset', { group: 'stream_servers', name: zone }, call);
    return doneReply(call, []);
  }

  @served('GET', '/stream/keyvals', schemas.read)
  streamKeyvals(call: ReadCall): Reply {
    return none(call);
  }

  @served('GET', '/stream/upstreams', schemas.listUpstreams)
  upstreamsOfStream(call: ReadCall): Promise<Reply> {
    return this.#upstreams('stream', call);
  }

  @served('GET', '/stream/upstreams/:upstream', schemas.readUpstream)
  upstreamOfStream(call: ReadCall): Promise<Reply> {
    return this.#upstream('stream', call);
  }

  @served('DELETE', '/stream/upstreams/:upstream', schemas.resetUpstream)
  async resetUpstreamOfStream(call: Call): Promise<Reply> {
    await this.dataPlane.call('upstream.reset', { ...call.params, engine: 'stream' }, call);
    return doneReply(call, []);
  }

  @served('GET', '/stream/upstreams/:upstream/servers', schemas.readUpstream)
  async serversOfStream(call: ReadCall): Promise<Reply> {
    return readReply(await this.dataPlane.call<Versioned>('upstream.members', { ...call.params, engine: 'stream' }, call));
  }

  @served('GET', '/stream/upstreams/:upstream/servers/:id', schemas.readUpstream)
  async serverOfStream(call: ReadCall): Promise<Reply> {
    return readReply(await this.dataPlane.call<Versioned>('upstream.member', { ...call.params, engine: 'stream' }, call));
  }

  @served('POST', '/stream/upstreams/:upstream/servers', schemas.addStreamServer)
  async addServerOfStream({ body, ...call }: Call<typeof schemas.addStreamServer>): Promise<Reply> {
    const reply = await this.#write('upstream.add', { ...call.params, engine: 'stream', fields: body }, call);
    return call.dryRun ? reply : { ...reply, status: 201 };
  }

  @served('PATCH', '/stream/upstreams/:upstream/servers/:id', schemas.changeStreamServer)
  changeServerOfStream({ body, ...call }: Call<typeof schemas.changeStreamServer>): Promise<Reply> {
    return this.#write('upstream.change', { ...call.params, engine: 'stream', fields: body }, call);
  }

  @served('DELETE', '/stream/upstreams/:upstream/servers/:id', schemas.removeServer)
  removeServerOfStream(call: Call): Promise<Reply> {
    return this.#write('upstream.remove', { ...call.params, engine: 'stream', minimal: call.minimal }, call);
  }

  @served('GET', '/http/keyvals', schemas.readKeyvals)
  async zones(call: Call<typeof schemas.readKeyvals>): Promise<Reply> {
    if (call.query.fields === '') return { status: 200, body: [ZONE] };
    return { status: 200, body: { [ZONE]: await this.#keyvals.all(call) } };
  }

  @served('GET', '/http/keyvals/:zone', schemas.readKeyvals)
  async zone(call: Call<typeof schemas.readKeyvals>): Promise<Reply> {
    assertZone(call.params['zone']);
    const { key } = call.query;
    const body = key === undefined ? await this.#keyvals.all(call) : { [key]: await this.#keyvals.get(key, call) };
    return { status: 200, body };
  }

  @served('POST', '/http/keyvals/:zone', schemas.addKeyval)
  async addKeyval({ body, ...call }: Call<typeof schemas.addKeyval>): Promise<Reply> {
    assertZone(call.params['zone']);
    await this.#keyvals.add(body, { ...call, body: undefined });
    return call.dryRun ? dryRunReply(Object.keys(body).map((key) => `+ ${key}`)) : { status: 201 };
  }

  @served('PATCH', '/http/keyvals/:zone', schemas.changeKeyval)
  async changeKeyval({ body, ...call }: Call<typeof schemas.changeKeyval>): Promise<Reply> {
    assertZone(call.params['zone']);
    await this.#keyvals.change(body, { ...call, body: undefined });
    return doneReply(
      call,
      Object.entries(body).map(([key, value]) => `${value === null ? '-' : '+'} ${key}`),
    );
  }

  @served('DELETE', '/http/keyvals/:zone', schemas.clearKeyvals)
  async clearKeyvals(call: Call): Promise<Reply> {
    assertZone(call.params['zone']);
    await this.#keyvals.clear(call);
    return doneReply(call, ['- all keys']);
  }

  async #upstreams(engine: EngineName, { query, ...call }: ReadCall): Promise<Reply> {
    const { value } = await this.dataPlane.call<Versioned<readonly Upstream[]>>('upstream.list', { engine }, call);
    return { status: 200, body: selectEach(Object.fromEntries(value.map(({ name, ...shown }) => [name, shown])), query.fields) };
  }

  async #upstream(engine: EngineName, { query, ...call }: ReadCall): Promise<Reply> {
    const { value } = await this.dataPlane.call<Versioned<Upstream>>('upstream.get', { ...call.params, engine }, call);
    const { name: _name, ...shown } = value;
    return { status: 200, body: select(shown, query.fields) };
  }

  async #figures(what: Read, { query, ...call }: ReadCall): Promise<Reply> {
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
      if (kind === 'stream server') return await this.dataPlane.call('vts.stream_zones', {}, call);
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
  return plusError(kind === 'location' ? 'LocationZoneNotFound' : 'ServerZoneNotFound', `${kind} zone "${zone}" not found`);
}

/** Something of which there is nothing in srv, by name. */
function none({ query }: ReadCall): Reply {
  return { status: 200, body: query.fields === '' ? [] : {} };
}
