import type { Collection, FigureFamily } from '../../core/contract/families.js';
import type { Labels } from '../../core/contract/metrics.js';
import { HANDSHAKE_FAILURES } from '../../core/toolkit/handshake-failure.js';
import type { Collector, NamedRow } from './collector.js';
import type { Exemplars } from './exemplars.js';
import { OTHER } from './filters.js';
import {
  AttemptFigure,
  CACHE_STATUSES,
  CIPHER_FAMILIES,
  Http,
  LIMITS,
  ListenerFigure,
  Main,
  METHODS,
  PROTOCOLS,
  Stream,
  Time,
  TLS_PROTOCOLS,
  type RowKind,
} from './layout.js';
import { counterFamilies, counterSamples, gaugeSamples, listed, statusSamples, timeFamily, type Group } from './samples.js';
import { shownName } from './shown-name.js';

const REQUESTS: readonly Group[] = [
  { kinds: ['server'], prefix: 'srv_http', of: 'a server', labels: ({ name }) => ({ server: name }) },
  { kinds: ['location'], prefix: 'srv_http_location', of: 'a location', labels: ({ name }) => ({ location: name }) },
  {
    kinds: ['filter', 'other'],
    prefix: 'srv_http_group',
    of: 'a group',
    labels: ({ kind, name, part }) => ({ group: shownName(name), key: kind === 'other' ? OTHER : shownName(part) }),
  },
];
const upstreamLabels = ({ name }: NamedRow): Labels => ({ upstream: name });
const memberLabels = ({ name, part }: NamedRow): Labels => ({ upstream: name, server: part });
const ATTEMPTS: readonly Group[] = [
  { kinds: ['upstream'], prefix: 'srv_http_upstream', of: 'an upstream', labels: upstreamLabels },
  { kinds: ['member'], prefix: 'srv_http_member', of: 'a server of an upstream', labels: memberLabels },
  { kinds: ['stream_upstream'], prefix: 'srv_stream_upstream', of: 'an upstream', labels: upstreamLabels },
  { kinds: ['stream_member'], prefix: 'srv_stream_member', of: 'a server of an upstream', labels: memberLabels },
];
const MAIN: Group = { kinds: ['main'], prefix: 'srv_http', of: 'a server', labels: () => ({}) };
const SESSIONS: Group = { kinds: ['stream_server'], prefix: 'srv_stream', of: 'a server', labels: ({ name }) => ({ server: name }) };

const LISTENERS: Group = { kinds: ['listener'], prefix: 'srv_listener', of: 'a listener', labels: ({ name }) => ({ address: name }) };

/** Figures for monitoring, made while they are read. */
export function collectFamilies(collector: Collector, exemplars: Pick<Exemplars, 'of'>): Collection {
  const { byKind, done } = collector.scrape();
  return { families: familiesOf(byKind, collector, exemplars), done };
}

function* familiesOf(byKind: RowsByKind, { budget }: Collector, exemplars: Pick<Exemplars, 'of'>): Generator<FigureFamily> {
  for (const group of REQUESTS) yield* requestFamilies(group, of(byKind, group), exemplars);
  for (const group of ATTEMPTS) yield* attemptFamilies(group, of(byKind, group));
  yield {
    name: 'srv_http_subrequests',
    help: 'Subrequests.',
    kind: 'counter',
    samples: counterSamples(of(byKind, MAIN), MAIN, Main.Subrequests),
  };
  yield* sessionFamilies(SESSIONS, of(byKind, SESSIONS));
  yield* listenerFamilies(LISTENERS, of(byKind, LISTENERS));
  yield { name: 'srv_vts_groups', help: 'Groups of requests.', kind: 'gauge', samples: [{ labels: {}, value: budget.groups }] };
  yield {
    name: 'srv_vts_rejected_rows',
    help: 'Figures that were not counted because the zone had no room.',
    kind: 'counter',
    samples: [{ labels: {}, value: budget.rejected }],
  };
}

type RowsByKind = ReadonlyMap<RowKind, readonly NamedRow[]>;
const of = (byKind: RowsByKind, { kinds }: Group): NamedRow[] => kinds.flatMap((kind) => byKind.get(kind) ?? []);

function* requestFamilies(group: Group, rows: readonly NamedRow[], exemplars: Pick<Exemplars, 'of'>): Generator<FigureFamily> {
  const { prefix } = group;
  const one = counterFamilies(rows, group);
  yield one('requests', 'Requests', Http.Requests);
  yield {
    name: `${prefix}_responses`,
    help: `Responses of ${group.of} by status.`,
    kind: 'counter',
    samples: statusSamples(rows, group, Http.Statuses),
  };
  yield { ...one('requests_by_method', 'Requests by method', 0), ...listed(rows, group, Http.Methods, 'method', METHODS) };
  yield { ...one('requests_by_protocol', 'Requests by protocol', 0), ...listed(rows, group, Http.Protocols, 'protocol', PROTOCOLS) };
  yield {
    ...one('cache_requests', 'Requests by what the cache had for them', 0),
    ...listed(rows, group, Http.Cache, 'status', CACHE_STATUSES),
  };
  yield {
    ...one('limited_requests', 'Requests that were delayed or rejected by a limit', 0),
    ...listed(rows, group, Http.Limits, 'limit', LIMITS),
  };
  yield one('received', 'Bytes of requests', Http.Received, 'bytes');
  yield one('sent', 'Bytes of responses', Http.Sent, 'bytes');
  yield one('discarded', 'Requests that ended without a response', Http.Discarded);
  yield one('aborted', 'Requests whose client left before the response began (499)', Http.Aborted);
  yield one('retries', 'Attempts after the first one at members, for requests', Http.Retries);
  yield one('upgrades', 'Upgraded connections', Http.Upgrades);
  if (prefix === 'srv_http') {
    yield {
      name: `${prefix}_active_requests`,
      help: `Requests of ${group.of} under way.`,
      kind: 'gauge',
      samples: gaugeSamples(rows, group),
    };
  }
  yield timeFamily(
    `${prefix}_request_duration`,
    `Time from the head of a request to the end of its response, of ${group.of}.`,
    rows,
    group,
    0,
    exemplars,
  );
}

function* attemptFamilies(group: Group, rows: readonly NamedRow[]): Generator<FigureFamily> {
  const { prefix } = group;
  const one = counterFamilies(rows, group);
  yield one('attempts', 'Attempts', AttemptFigure.Attempts);
  yield {
    name: `${prefix}_responses`,
    help: `Results of attempts by status, of ${group.of}.`,
    kind: 'counter',
    samples: statusSamples(rows, group, AttemptFigure.Statuses),
  };
  yield one('received', 'Bytes of responses', AttemptFigure.Received, 'bytes');
  yield one('sent', 'Bytes of requests', AttemptFigure.Sent, 'bytes');
  yield one('failures', 'Attempts that failed', AttemptFigure.Errors);
  yield one('timeouts', 'Attempts that timed out', AttemptFigure.TimedOut);
  yield one('retries', 'Attempts after the first one of a request', AttemptFigure.Retries);
  yield one('reused_connections', 'Attempts with a kept connection', AttemptFigure.Reused);
  yield timeFamily(
    `${prefix}_response_duration`,
    `Time of attempts until the end of the response, of ${group.of}.`,
    rows,
    group,
    Time.Response,
  );
  if (!group.kinds.some((kind) => kind.endsWith('upstream'))) return;
  yield timeFamily(
    `${prefix}_connect_duration`,
    `Time of attempts until there was a connection, of ${group.of}.`,
    rows,
    group,
    Time.Connect,
  );
  yield timeFamily(`${prefix}_header_duration`, `Time of attempts until the head of the response, of ${group.of}.`, rows, group, Time.Head);
}

function* sessionFamilies(group: Group, rows: readonly NamedRow[]): Generator<FigureFamily> {
  const { prefix } = group;
  const one = counterFamilies(rows, group);
  yield one('sessions', 'Sessions', Stream.Sessions);
  yield {
    name: `${prefix}_results`,
    help: `Sessions of ${group.of} by status.`,
    kind: 'counter',
    samples: statusSamples(rows, group, Stream.Statuses),
  };
  yield one('received', 'Bytes of clients', Stream.Received, 'bytes');
  yield one('sent', 'Bytes to clients', Stream.Sent, 'bytes');
  yield one('rejected_connections', 'Sessions rejected by a limit', Stream.ConnRejected);
  yield one('retries', 'Attempts after the first one at members, for sessions', Stream.Retries);
  yield {
    name: `${prefix}_active_sessions`,
    help: `Sessions of ${group.of} under way.`,
    kind: 'gauge',
    samples: gaugeSamples(rows, group),
  };
  yield timeFamily(`${prefix}_session_duration`, `Time of sessions of ${group.of}.`, rows, group, 0);
}

function* listenerFamilies(group: Group, rows: readonly NamedRow[]): Generator<FigureFamily> {
  const one = counterFamilies(rows, group);
  yield one('connections', 'Connections that were accepted', ListenerFigure.Accepted);
  yield one('rejected_connections', 'Connections that were closed because there were too many', ListenerFigure.Rejected);
  yield {
    name: 'srv_listener_open_connections',
    help: 'Open connections of a listener.',
    kind: 'gauge',
    samples: gaugeSamples(rows, group),
  };
  yield one('handshakes', 'TLS handshakes', ListenerFigure.Handshakes);
  yield one('resumed_handshakes', 'TLS handshakes that resumed a session', ListenerFigure.Resumed);
  yield {
    ...one('handshakes_by_protocol', 'TLS handshakes by protocol', 0),
    ...listed(rows, group, ListenerFigure.Protocols, 'protocol', TLS_PROTOCOLS),
  };
  yield {
    ...one('handshakes_by_cipher', 'TLS handshakes by the family of the cipher', 0),
    ...listed(rows, group, ListenerFigure.Ciphers, 'cipher', CIPHER_FAMILIES),
  };
  yield {
    ...one('failed_handshakes', 'TLS handshakes that failed', 0),
    ...listed(rows, group, ListenerFigure.Failures, 'reason', HANDSHAKE_FAILURES),
  };
}
