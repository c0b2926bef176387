import type { Distribution } from '../../core/contract/distribution.js';
import type { FigureTotals } from '../../core/contract/figures.js';
import { HANDSHAKE_FAILURES } from '../../core/toolkit/handshake-failure.js';
import {
  AttemptFigure,
  CACHE_STATUSES,
  CIPHER_FAMILIES,
  CLASSES,
  CODES,
  Http,
  HTTP_SHAPE,
  LIMITS,
  ListenerFigure,
  LISTENER_SHAPE,
  Main,
  MEMBER_SHAPE,
  METHODS,
  PROTOCOLS,
  Stream,
  STREAM_SHAPE,
  Time,
  TLS_PROTOCOLS,
  type RowKind,
} from './layout.js';

type Numbers = Readonly<Record<string, number>>;

/** Times in milliseconds. */
export interface TimesView {
  readonly count: number;
  readonly sum: number;
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
}

export interface ResponsesView {
  readonly '1xx': number;
  readonly '2xx': number;
  readonly '3xx': number;
  readonly '4xx': number;
  readonly '5xx': number;
  /** By status, where there are some. */
  readonly codes: Numbers;
}

/** The figures of a row as the API shows them. */
export type RowView = Readonly<Record<string, unknown>>;

export function viewOf(kind: RowKind, totals: FigureTotals): RowView {
  if (kind === 'upstream' || kind === 'stream_upstream') return upstreamView(totals);
  if (kind === 'member' || kind === 'stream_member') return attemptsView(totals);
  if (kind === 'listener') return listenerView(totals);
  if (kind === 'main') return { subrequests: totals.counter(Main.Subrequests) };
  return kind === 'stream_server' ? sessionsView(totals) : requestsView(kind, totals);
}

function requestsView(kind: RowKind, totals: FigureTotals): RowView {
  const counters = totals.counters(0, HTTP_SHAPE.counters);
  const counter = (at: number): number => counters[at]!;
  return {
    requests: counter(Http.Requests),
    ...(kind === 'server' && { active: totals.gauge(0) }),
    responses: responsesView(counters, Http.Statuses),
    discarded: counter(Http.Discarded),
    aborted: counter(Http.Aborted),
    received: counter(Http.Received),
    sent: counter(Http.Sent),
    methods: present(counters, Http.Methods, METHODS),
    protocols: present(counters, Http.Protocols, PROTOCOLS),
    tls: counter(Http.Tls),
    upgrades: counter(Http.Upgrades),
    retries: counter(Http.Retries),
    cache: present(
      counters,
      Http.Cache,
      CACHE_STATUSES.map((status) => status.toLowerCase()),
    ),
    limits: present(counters, Http.Limits, LIMITS),
    times: timesView(totals.distribution(0)),
  };
}

function attemptsView(totals: FigureTotals): RowView {
  const counters = totals.counters(0, MEMBER_SHAPE.counters);
  const counter = (at: number): number => counters[at]!;
  return {
    attempts: counter(AttemptFigure.Attempts),
    responses: responsesView(counters, AttemptFigure.Statuses),
    failures: counter(AttemptFigure.Errors),
    timeouts: counter(AttemptFigure.TimedOut),
    retries: counter(AttemptFigure.Retries),
    abandoned: counter(AttemptFigure.Left),
    reused: counter(AttemptFigure.Reused),
    received: counter(AttemptFigure.Received),
    sent: counter(AttemptFigure.Sent),
    connect_mean: quotient(counter(AttemptFigure.ConnectTime), counter(AttemptFigure.Connected)),
    header_mean: quotient(counter(AttemptFigure.HeadTime), counter(AttemptFigure.Heads)),
    times: timesView(totals.distribution(Time.Response)),
  };
}

function upstreamView(totals: FigureTotals): RowView {
  const { connect_mean: _connect, header_mean: _header, ...attempts } = attemptsView(totals);
  return {
    ...attempts,
    connect_times: timesView(totals.distribution(Time.Connect)),
    header_times: timesView(totals.distribution(Time.Head)),
  };
}

function sessionsView(totals: FigureTotals): RowView {
  const counters = totals.counters(0, STREAM_SHAPE.counters);
  const counter = (at: number): number => counters[at]!;
  return {
    sessions: counter(Stream.Sessions),
    active: totals.gauge(0),
    responses: responsesView(counters, Stream.Statuses),
    received: counter(Stream.Received),
    sent: counter(Stream.Sent),
    tls: counter(Stream.Tls),
    udp: counter(Stream.Udp),
    retries: counter(Stream.Retries),
    limits: { conn_rejected: counter(Stream.ConnRejected) },
    times: timesView(totals.distribution(0)),
  };
}

function listenerView(totals: FigureTotals): RowView {
  const counters = totals.counters(0, LISTENER_SHAPE.counters);
  const handshakes = counters[ListenerFigure.Handshakes]!;
  const failed = counters[ListenerFigure.Failed]!;
  return {
    accepted: counters[ListenerFigure.Accepted]!,
    rejected: counters[ListenerFigure.Rejected]!,
    current: totals.gauge(0),
    ...(handshakes + failed > 0 && {
      tls: {
        handshakes,
        resumed: counters[ListenerFigure.Resumed]!,
        protocols: present(counters, ListenerFigure.Protocols, TLS_PROTOCOLS),
        ciphers: present(counters, ListenerFigure.Ciphers, CIPHER_FAMILIES),
        failed,
        failures: present(counters, ListenerFigure.Failures, HANDSHAKE_FAILURES),
      },
    }),
  };
}

/** Responses by class, and by status. */
function responsesView(counters: Float64Array, first: number): ResponsesView {
  const classes = CLASSES.map((_, at) => counters[first + CODES.length + at]!);
  const codes: Record<string, number> = {};
  for (const [at, code] of CODES.entries()) {
    const count = counters[first + at]!;
    if (count === 0) continue;
    codes[code] = count;
    classes[Math.floor(code / 100) - 1]! += count;
  }
  const [one = 0, two = 0, three = 0, four = 0, five = 0] = classes;
  return { '1xx': one, '2xx': two, '3xx': three, '4xx': four, '5xx': five, codes };
}

export function timesView(times: Distribution): TimesView {
  const { count, sum, mean } = times;
  const [p50, p90, p99, p999] = [0.5, 0.9, 0.99, 0.999].map((share) => times.quantile(share)) as [number, number, number, number];
  return { count, sum, mean, p50, p90, p99, p999 };
}

/** Counters beside each other by their names, where they are not zero. */
function present(counters: Float64Array, first: number, names: readonly string[]): Numbers {
  const found: Record<string, number> = {};
  for (const [at, name] of names.entries()) {
    const count = counters[first + at]!;
    if (count > 0) found[name] = count;
  }
  return found;
}

const quotient = (sum: number, count: number): number => (count === 0 ? 0 : sum / count);
