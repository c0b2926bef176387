import type { FigureRow, FigureTable } from '../../core/contract/figures.js';
import { DECLINED, type StreamHandlers, type StreamResult, type StreamScope, type StreamSession } from '../../core/contract/stream.js';
import { keyOf, statusCell, Stream, STREAM_SHAPE } from './layout.js';
import type { MemberRows } from './member-rows.js';
import type { streamDirectives } from './stream-directives.js';

export type StreamStatisticsScope = StreamScope<typeof streamDirectives>;

/** Name of the server in statistics: its `status_zone`, else the first of its names, else where it listens. */
function serverName(scope: StreamStatisticsScope): string {
  const first = (directive: string): string | undefined => scope.lines(directive)[0]?.args[0]?.text;
  return scope.conf.status_zone ?? (first('server_name') || first('listen')) ?? '_';
}

/** Attempts of a session after its first one: under this key of the session. */
const RETRIES = {};

/** Counters of the sessions of one server. */
export class SessionCounters {
  readonly #row: FigureRow;
  readonly #hasLimits: boolean;

  constructor(
    scope: StreamStatisticsScope,
    table: FigureTable,
    private readonly members: MemberRows,
  ) {
    this.#row = table.held(keyOf('stream_server', serverName(scope)), STREAM_SHAPE, scope);
    this.#hasLimits = scope.lines('limit_conn_zone').length > 0;
  }

  readonly begin = (session: StreamSession): StreamResult => {
    this.#row.move(0, 1);
    session.atEnd(this.#end);
    return DECLINED;
  };

  /** A session has ended. */
  readonly count = (session: StreamSession): void => {
    const row = this.#row;
    const { status } = session;
    const retries = (session.get(RETRIES) as number | undefined) ?? 0;
    row.add(Stream.Sessions, 1);
    row.add(Stream.Received, session.bytesReceived);
    row.add(Stream.Sent, session.bytesSent);
    row.add(Stream.Statuses + statusCell(status), 1);
    if (status >= 500) row.add(Stream.Errors, 1);
    if (session.connection.secure) row.add(Stream.Tls, 1);
    if (session.protocol === 'UDP') row.add(Stream.Udp, 1);
    if (retries > 0) row.add(Stream.Retries, retries);
    if (this.#hasLimits && session.variable('limit_conn_status') === 'REJECTED') row.add(Stream.ConnRejected, 1);
    row.observe(0, Math.max(Date.now() - session.startTime, 0));
  };

  /** An attempt at a member has ended. */
  readonly countAttempt: NonNullable<StreamHandlers['memberAttempt']> = (session, attempt, event) => {
    if (event !== 'end') return;
    this.members.count(attempt);
    if (attempt.number > 1) session.set(RETRIES, ((session.get(RETRIES) as number | undefined) ?? 0) + 1);
  };

  readonly #end = (): void => this.#row.move(0, -1);
}
