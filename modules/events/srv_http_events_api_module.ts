import { time } from '../../core/contract/args.js';
import { DATA_PLANE_ERRORS, route, type Call, type Reply } from '../../core/contract/control.js';
import type { Scope } from '../../core/contract/http.js';
import { controlModule, type HttpModule } from '../../core/contract/manifest.js';
import { Type } from '../../core/contract/schema.js';
import { DataPlane } from '../../core/contract/data-plane.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { Tasks } from '../../core/contract/tasks.js';
import { directive } from '../../core/contract/spec.js';
import { StreamPlaces } from '../../core/toolkit/stream-places.js';
import { EventFeed } from './feed.js';
import { EventStream } from './stream.js';

const directives = {
  api_events_keepalive: directive({
    in: ['http'],
    args: time(),
    default: '15s',
    doc: 'Time without an event after which a client of /v1/events is sent a comment, so that nothing on the way takes the connection for dead; 0: never.',
  }),
};

/** Longest delay of a timer, in milliseconds. */
const NEVER = 2 ** 31 - 1;
/** Clients at the same time. */
const MOST_STREAMS = 100;

const WORDS = '[a-z][a-z0-9_]*(?:\\.[a-z0-9_]+)*(?:\\.\\*)?';
const read = {
  summary: 'Follow what happens in the server (server-sent events)',
  query: Type.Object({
    types: Type.Optional(
      Type.String({
        pattern: `^${WORDS}(?:,${WORDS})*$`,
        description: 'Types of events, separated by commas; `acme.*` is all of `acme`.',
        'x-form': 'types of events separated by commas, such as config.changed,acme.*',
      }),
    ),
    last_event_id: Type.Optional(
      Type.String({ description: 'As the header field Last-Event-ID, for clients that cannot send it the first time.' }),
    ),
  }),
  responses: {
    200: Type.String({ contentMediaType: 'text/event-stream', description: 'Events as they happen; the response does not end.' }),
  },
  errors: [...DATA_PLANE_ERRORS, 'TooManyStreams'],
} as const;

/** Events of the server, as server-sent events: `/v1/events`. */
@controlModule({ name: 'srv_http_events_api_module', api: 1, key: 'events', dataModule: 'srv_http_events_module', directives })
export class EventsApi implements HttpModule {
  readonly #feed: EventFeed;
  #keepAlive = NEVER;
  readonly #places = new StreamPlaces(MOST_STREAMS, 'the events');
  /** Aborted by another configuration: clients come back, and are asked who they are. */
  #configuration = new AbortController();

  constructor(
    dataPlane: DataPlane,
    tasks: Tasks,
    private readonly info: ServerInfo,
  ) {
    this.#feed = new EventFeed(dataPlane, tasks);
  }

  compileServer(scope: Scope<typeof directives>): undefined {
    const { api_events_keepalive: ms } = scope.conf;
    scope.register({ commit: () => void (this.#keepAlive = ms === 0 ? NEVER : Math.min(ms, NEVER)) });
  }

  /** The access rules of a compiled location may have changed. */
  compile(scope: Scope<typeof directives>): undefined {
    scope.register({
      commit: () => {
        this.#configuration.abort();
        this.#configuration = new AbortController();
      },
    });
  }

  @route('GET', '', read)
  async read({ query, lastEventId, ...call }: Call<typeof read>): Promise<Reply> {
    const place = await this.#places.takeAfter(() => this.#feed.update(call));
    const stream = new EventStream(this.#feed, {
      after: lastEventId ?? query.last_event_id,
      wants: typeFilter(query.types),
      keepAlive: () => this.#keepAlive,
      leaving: AbortSignal.any([this.info.leaving, this.#configuration.signal]),
    });
    // For an nginx in front of it, which would hold the events back otherwise.
    return { status: 200, type: 'text/event-stream', stream: place.hold(stream), headers: { 'X-Accel-Buffering': 'no' } };
  }
}

function typeFilter(types: string | undefined): (type: string) => boolean {
  if (types === undefined) return () => true;
  const wanted = types.split(',');
  return (type) => wanted.some((name) => (name.endsWith('.*') ? type.startsWith(name.slice(0, -1)) : type === name));
}
