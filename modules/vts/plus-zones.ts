import type { NamedRow } from './collector.js';
import { viewOf } from './views.js';

/** Servers of `stream` with the names that NGINX Plus gives their figures. */
export function plusZones(rows: readonly NamedRow[]): Readonly<Record<string, object>> {
  return Object.fromEntries(rows.filter(({ kind }) => kind === 'stream_server').map((row) => [row.name, zoneOf(row)]));
}

function zoneOf({ totals }: NamedRow): object {
  const { sessions, active, responses, received, sent } = viewOf('stream_server', totals) as unknown as SessionFigures;
  const { '2xx': ok, '4xx': rejected, '5xx': failed } = responses;
  return {
    processing: active,
    connections: sessions + active,
    sessions: { '2xx': ok, '4xx': rejected, '5xx': failed, total: sessions },
    discarded: 0,
    received,
    sent,
  };
}

interface SessionFigures {
  readonly sessions: number;
  readonly active: number;
  readonly responses: Readonly<Record<'2xx' | '4xx' | '5xx', number>>;
  readonly received: number;
  readonly sent: number;
}
