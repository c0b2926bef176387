import { setTimeout } from 'node:timers/promises';
import { ApiError, DATA_PLANE_ERRORS, dryRunReply, route, type Call, type Reply } from '../../core/contract/control.js';
import { DataPlane } from '../../core/contract/data-plane.js';
import type { Scope } from '../../core/contract/http.js';
import { controlModule, type HttpModule } from '../../core/contract/manifest.js';
import { Type } from '../../core/contract/schema.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { StreamPlaces } from '../../core/toolkit/stream-places.js';
import { FormatJson, type FormatCache, type FormatMember } from './format-json.js';
import type { HistoryPoint } from './history.js';
import { jsonOf } from './json-text.js';
import type { MainView } from './main-view.js';
import type { Page, PageCall, Selection } from './pages.js';
import { RecentTimes, type SentTimes } from './recent-times.js';
import { SECTIONS } from './sections.js';
import { statisticsStream } from './statistics-stream.js';

/** How often a call that waits looks for changes. Rates are measured each second. Milliseconds. */
const POLL = 250;

const selection = {
  group: Type.Optional(Type.Enum(Object.keys(SECTIONS))),
  name: Type.Optional(Type.String({ maxLength: 1000, description: 'Name of a server, location, upstream or group.' })),
};

const read = {
  summary: 'Read the statistics of servers, locations, upstreams, groups, caches and limits',
  query: Type.Object({
    ...selection,
    after: Type.Optional(Type.Integer({ minimum: 0, description: '`sample` of the last response: with `wait`.' })),
    wait: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 60,
        description: 'Seconds that the response waits at most, until something was counted after that sample.',
      }),
    ),
  }),
  responses: { 200: Type.Unsafe<unknown>({ type: 'object', title: 'TrafficStatistics', additionalProperties: true }) },
  errors: DATA_PLANE_ERRORS,
} as const;

const stream = {
  summary: 'Follow the statistics, each second (server-sent events)',
  query: Type.Object(selection),
  responses: {
    200: Type.String({
      contentMediaType: 'text/event-stream',
      description:
        'Each event has the JSON of GET /v1/vts, and `recent`: the times of all requests in the last 10 seconds. The response does not end.',
    }),
  },
  errors: [...DATA_PLANE_ERRORS, 'TooManyStreams'],
} as const;

const perSecond = Type.Number({ minimum: 0, description: 'Per second, since the point before.' });
const time = Type.Optional(Type.Number({ minimum: 0, description: 'Milliseconds; absent: no request was over in that time.' }));
const history = {
  summary: 'Read the figures of all servers together over the last hour',
  responses: {
    200: Type.Array(
      Type.Object(
        {
          at: Type.Number({ description: 'Epoch milliseconds.' }),
          requests: perSecond,
          errors: perSecond,
          rejected: perSecond,
          received: perSecond,
          sent: perSecond,
          p50: time,
          p99: time,
          connections: Type.Integer({ minimum: 0, description: 'At that moment.' }),
        },
        { title: 'HistoryPoint' },
      ),
      { description: 'A point every ten seconds, the oldest first. `errors` are responses with 5xx, `rejected` those with 4xx.' },
    ),
  },
  errors: DATA_PLANE_ERRORS,
} as const;

const format = {
  summary: 'Read the statistics in the JSON of nginx-module-vts',
  responses: { 200: Type.Unsafe<unknown>({ type: 'object', title: 'VhostTrafficStatus', additionalProperties: true }) },
  errors: DATA_PLANE_ERRORS,
} as const;

const reset = {
  summary: 'Set statistics to zero',
  query: Type.Object(selection),
  responses: {
    200: Type.Object({ reset: Type.Integer({ minimum: 0, description: 'Rows that were set to zero.' }) }, { title: 'StatisticsReset' }),
  },
  dryRun: true,
  errors: [...DATA_PLANE_ERRORS, 'StatisticsNotFound'],
} as const;

/** Clients at the same time. */
const MOST_STREAMS = 50;
/** Events whose times are `recent`. */
const RECENT = 10;

/** Statistics by API: `/v1/vts`. */
@controlModule({ name: 'srv_http_vts_api_module', api: '1.2', key: 'vts', dataModule: 'srv_http_vts_module' })
export class StatisticsApi implements HttpModule {
  readonly #places = new StreamPlaces(MOST_STREAMS, 'the statistics');
  /** Aborted by another configuration: clients come back, and are asked who they are. */
  #configuration = new AbortController();

  constructor(
    private readonly dataPlane: DataPlane,
    private readonly info: ServerInfo,
  ) {}

  compile(scope: Scope): undefined {
    scope.register({
      commit: () => {
        this.#configuration.abort();
        this.#configuration = new AbortController();
      },
    });
  }

  @route('GET', '', read)
  async read(call: Call<typeof read>): Promise<Reply> {
    const { group, name, after, wait } = call.query;
    if (after !== undefined && wait !== undefined) await this.#changed(after, wait, call);
    const main = await this.dataPlane.call<MainView>('vts.main', {}, call);
    const first = await this.#page({ group, name }, call);
    return { status: 200, type: 'application/json', stream: jsonOf(main, first, (next) => this.#page({ group, name, next }, call)) };
  }

  @route('GET', '/stream', stream)
  async follow(call: Call<typeof stream>): Promise<Reply> {
    // Whatever is wrong with the data plane is the response.
    const place = await this.#places.takeAfter(() => this.dataPlane.call<MainView>('vts.main', {}, call));
    const times = new RecentTimes(RECENT);
    const leaving = AbortSignal.any([this.info.leaving, this.#configuration.signal]);
    // For an nginx in front of it, which would hold the events back otherwise.
    const headers = { 'X-Accel-Buffering': 'no' };
    return {
      status: 200,
      type: 'text/event-stream',
      stream: place.hold(statisticsStream(() => this.#frame(call.query, times), leaving)),
      headers,
    };
  }

  @route('GET', '/history', history)
  async history(call: Call<typeof history>): Promise<Reply> {
    return { status: 200, body: await this.dataPlane.call<readonly HistoryPoint[]>('vts.history', {}, call) };
  }

  @route('GET', '/format/json', format)
  async format(call: Call<typeof format>): Promise<Reply> {
    const main = await this.dataPlane.call<MainView>('vts.main', {}, call);
    const body = new FormatJson();
    let nodes = 0;
    let last: { readonly name: string; readonly settings: ReadonlyMap<string, FormatMember> | undefined } | undefined;
    for (
      let page = await this.#page({}, call);
      page !== undefined;
      page = page.next === undefined ? undefined : await this.#page({ next: page.next }, call)
    ) {
      for (const row of page.rows) {
        nodes++;
        if (row.section === 'upstreams' && last?.name !== row.name)
          last = { name: row.name, settings: await this.#members(row.name, call) };
        body.add(row, last?.settings);
      }
    }
    const hasCaches = Object.keys(main.caches).length > 0;
    const sizes = hasCaches ? await this.dataPlane.call<Readonly<Record<string, FormatCache>>>('cache.plus_zones', {}, call) : {};
    return { status: 200, body: body.body(main, { hostName: this.info.nodeName, version: this.info.version }, sizes, nodes) };
  }

  @route('DELETE', '', reset)
  async reset(call: Call<typeof reset>): Promise<Reply> {
    const { group, name } = call.query;
    const count = await this.dataPlane.call<number>('vts.reset', { group, name }, call);
    if (count === 0 && name !== undefined) throw new ApiError(404, 'StatisticsNotFound', `there are no statistics of "${name}"`);
    return call.dryRun ? dryRunReply([`${count} rows`]) : { status: 200, body: { reset: count } };
  }

  async #members(upstream: string, call: Call<typeof format>): Promise<ReadonlyMap<string, FormatMember> | undefined> {
    const members = await this.dataPlane.call<readonly FormatMember[] | undefined>('vts.members', { upstream }, call);
    return members && new Map(members.map((member) => [member.server, member]));
  }

  async *#frame(selected: Selection, times: RecentTimes): AsyncGenerator<string> {
    const call = { dryRun: false, requestId: 'vts' };
    const main = await this.dataPlane.call<MainView>('vts.main', {}, call);
    const recent = times.add(await this.dataPlane.call<SentTimes>('vts.times', {}, call));
    const first = await this.#page(selected, call);
    yield* jsonOf({ ...main, recent }, first, (next) => this.#page({ ...selected, next }, call));
  }

  #page(params: PageCall, call: Pick<Call, 'dryRun' | 'requestId'>): Promise<Page | undefined> {
    return this.dataPlane.call<Page | undefined>('vts.page', params, call);
  }

  async #changed(after: number, seconds: number, call: Call<typeof read>): Promise<void> {
    const end = performance.now() + seconds * 1000;
    while (!(await this.dataPlane.call<boolean>('vts.changed', { after }, call)) && performance.now() < end) await setTimeout(POLL);
  }
}
