import { ApiError, DATA_PLANE_ERRORS, route, type Call, type Reply } from '../../core/contract/control.js';
import { DataPlane } from '../../core/contract/data-plane.js';
import type { Scope } from '../../core/contract/http.js';
import { controlModule, type HttpModule } from '../../core/contract/manifest.js';
import { Type } from '../../core/contract/schema.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { ArgError } from '../../core/contract/spec.js';
import { Tasks } from '../../core/contract/tasks.js';
import { StreamPlaces } from '../../core/toolkit/stream-places.js';
import { LogFeed } from './feed.js';
import { parseFilter, type EntryFilter } from './filter.js';
import { LogStream } from './stream.js';

/** Clients at the same time. */
const MOST_STREAMS = 50;

const read = {
  summary: 'Follow the access and error logs (server-sent events)',
  query: Type.Object({
    filter: Type.Optional(
      Type.String({
        maxLength: 1000,
        description:
          'Terms that all have to be true, separated by spaces: `status>=500 client=10.0.0.0/8`. Fields: kind (access, error), server, host, client, method, path (its beginning), status, time, upstream, level, request_id; operators: = != < <= > >=.',
      }),
    ),
  }),
  responses: {
    200: Type.String({ contentMediaType: 'text/event-stream', description: 'Lines as they are written; the response does not end.' }),
  },
  errors: [...DATA_PLANE_ERRORS, 'TooManyStreams'],
} as const;

/** The live access and error log by API: `/v1/logs/stream`. */
@controlModule({ name: 'srv_http_live_log_api_module', api: '1.2', key: 'logs', dataModule: 'srv_http_live_log_module' })
export class LiveLogApi implements HttpModule {
  readonly #feed: LogFeed;
  readonly #places = new StreamPlaces(MOST_STREAMS, 'the logs');
  /** Aborted by another configuration: clients come back, and are asked who they are. */
  #configuration = new AbortController();

  constructor(
    dataPlane: DataPlane,
    tasks: Tasks,
    private readonly info: ServerInfo,
  ) {
    this.#feed = new LogFeed(dataPlane, tasks);
  }

  compile(scope: Scope): undefined {
    scope.register({
      commit: () => {
        this.#configuration.abort();
        this.#configuration = new AbortController();
      },
    });
  }

  @route('GET', '/stream', read)
  async read({ query, ...call }: Call<typeof read>): Promise<Reply> {
    const { filter = '' } = query;
    const wants = filterOf(filter);
    const place = await this.#places.takeAfter(() => this.#feed.check(call));
    const leaving = AbortSignal.any([this.info.leaving, this.#configuration.signal]);
    // For an nginx in front of it, which would hold the lines back otherwise.
    const headers = { 'X-Accel-Buffering': 'no' };
    return { status: 200, type: 'text/event-stream', stream: place.hold(new LogStream(this.#feed, { filter, wants, leaving })), headers };
  }
}

/** @throws ApiError 400 `InvalidField` */
function filterOf(filter: string): EntryFilter {
  try {
    return parseFilter(filter);
  } catch (error) {
    if (!(error instanceof ArgError)) throw error;
    const { message, hint } = error;
    throw new ApiError(400, 'InvalidField', `filter: ${message}`, [{ parameter: 'filter', message, ...(hint !== undefined && { hint }) }]);
  }
}
