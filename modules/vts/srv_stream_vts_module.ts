import { streamModule } from '../../core/contract/manifest.js';
import { StreamUpstreams } from '../../core/contract/stream-servers.js';
import type { StreamHandlers } from '../../core/contract/stream.js';
import type { FigureTable } from '../../core/contract/figures.js';
import { MemberRows } from './member-rows.js';
import { streamDirectives as directives } from './stream-directives.js';
import { SessionCounters, type StreamStatisticsScope } from './stream-scopes.js';
import { StatisticsMemory } from './tables.js';

/** Rows of addresses that no `upstream` block names, at most. */
const MOST_ADDRESSES = 1000;

/** Statistics of sessions by server, upstream and member (nginx-module-stream-sts). Shown with those of `srv_http_vts_module`, which it needs. */
@streamModule({ name: 'srv_stream_vts_module', api: '1.2', plane: 'data', directives, phases: { post_accept: 0 } })
export class StreamStatistics {
  readonly #members = new Map<FigureTable, MemberRows>();

  constructor(
    private readonly memory: StatisticsMemory,
    private readonly upstreams: StreamUpstreams,
  ) {}

  compile(scope: StreamStatisticsScope): StreamHandlers | undefined {
    const { vts, server_traffic_status: long, status_zone: zone } = scope.conf;
    if (!(vts ?? long ?? zone !== undefined)) return undefined;
    const table = this.memory.own(scope);
    const counters = new SessionCounters(scope, table, this.#membersOf(table));
    return { post_accept: counters.begin, log: counters.count, memberAttempt: counters.countAttempt };
  }

  #membersOf(table: FigureTable): MemberRows {
    const known = this.#members.get(table);
    if (known !== undefined) return known;
    const rows = new MemberRows(table, this.upstreams, { upstream: 'stream_upstream', member: 'stream_member' }, MOST_ADDRESSES);
    this.#members.set(table, rows);
    this.memory.onTrim(() => rows.clear());
    return rows;
  }
}
