import { argType } from '../../core/contract/arg-type.js';
import { choice, confPath, flag, number, optional, rest, template, text, time } from '../../core/contract/args.js';
import { ArgError, directive, type ArgType } from '../../core/contract/spec.js';
import { keepRule, logRule } from './keep-rules.js';
import { PROPAGATORS } from './trace-context.js';

const ANYWHERE = ['http', 'server', 'location'] as const;
const IN_EXPORTER = ['otel_exporter'] as const;

/** A part of all: 0 to 1. */
const part = argType<number>({
  kind: 'number',
  form: 'number',
  parse(value) {
    const result = /^(?:\d{1,3}(?:\.\d{1,9})?|\.\d{1,9})$/.test(value) ? Number(value) : Number.NaN;
    if (result >= 0 && result <= 1) return result;
    throw new ArgError(`invalid ratio "${value}"`, 'from 0 to 1: 0.01 is one of a hundred');
  },
  print: String,
});

const collectorUrl = argType<string>({
  kind: 'text',
  form: 'url',
  parse(value) {
    const url = URL.canParse(value) ? new URL(value) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '' || url.hash !== '')
      throw new ArgError(`invalid URL "${value}"`, 'as in http://collector:4318; credentials belong into header');
    return value;
  },
  print: (value) => value,
});

const LEVELS = ['debug', 'info', 'notice', 'warn', 'error', 'crit', 'alert', 'emerg'] as const;

function atLeast(least: number, type: ArgType<number>): ArgType<number> {
  return {
    ...type,
    parse(value, context) {
      const result = type.parse(value, context);
      if (result < least) throw new ArgError(`invalid time "${value}"`, `${least / 1000}s at least`);
      return result;
    },
  };
}

export const exporterDirectives = {
  endpoint: directive({
    in: IN_EXPORTER,
    args: collectorUrl,
    doc: 'URL of the collector (OTLP over HTTP, protobuf): `http://127.0.0.1:4318`. `/v1/traces`, `/v1/logs` and `/v1/metrics` are below it.',
  }),
  trusted_certificate: directive({
    in: IN_EXPORTER,
    args: confPath(),
    doc: 'File with the certificates of the authorities that a collector with https is verified with.',
  }),
  header: directive({
    in: IN_EXPORTER,
    args: { name: text('name'), value: text('value') },
    many: true,
    doc: 'Field of requests to the collector, such as a key.',
  }),
  interval: directive({ in: IN_EXPORTER, args: time(), default: '5s', doc: 'Longest time until a span or log record is sent.' }),
  batch_size: directive({
    in: IN_EXPORTER,
    args: number({ min: 1, max: 10_000 }),
    default: '512',
    doc: 'Spans, log records or figures of a request at most.',
  }),
  batch_count: directive({
    in: IN_EXPORTER,
    args: number({ min: 1, max: 1000 }),
    default: '16',
    doc: 'Batches of each kind that wait at most, of all workers together. Further spans and log records are dropped, and counted.',
  }),
  timeout: directive({ in: IN_EXPORTER, args: time(), default: '10s', doc: 'Longest time until the collector has responded.' }),
  metrics: directive({ in: IN_EXPORTER, args: flag(), default: 'off', doc: 'Sends the figures of `/metrics`.' }),
  metrics_interval: directive({
    in: IN_EXPORTER,
    args: atLeast(1000, time()),
    default: '60s',
    doc: 'Time between two exports of the figures, 1s at least.',
  }),
  logs: directive({
    in: IN_EXPORTER,
    args: choice('off', ...LEVELS),
    default: 'off',
    doc: 'Sends the lines of the error log from this level on, if some `error_log` writes them.',
  }),
  gzip: directive({ in: IN_EXPORTER, args: flag(), default: 'off', doc: 'Compresses requests to the collector.' }),
};

export const directives = {
  telemetry: directive({
    in: ANYWHERE,
    args: { mode: choice('on', 'off', 'ratio'), ratio: optional(part) },
    default: 'off',
    doc: 'Records spans of requests: of all, of none, or of this part of them (`ratio 0.01`). Where the client has sent a trace context, its decision holds.',
  }),
  telemetry_context: directive({
    in: ANYWHERE,
    args: choice('propagate', 'extract', 'inject', 'ignore'),
    default: 'propagate',
    doc: 'Trace contexts: `extract` uses that of the client, `inject` sends one to members, `propagate` does both, `ignore` neither.',
  }),
  telemetry_propagators: directive({
    in: ANYWHERE,
    args: rest(choice(...PROPAGATORS)),
    default: 'tracecontext baggage',
    doc: 'Forms of trace contexts, in the order in which they are looked for: `tracecontext` and `baggage` are those of W3C, `b3` and `b3multi` those of Zipkin.',
  }),
  telemetry_attribute: directive({
    in: ANYWHERE,
    args: { name: text('name'), value: template('value') },
    many: true,
    inherit: 'append',
    doc: 'Adds an attribute to the spans of requests. An empty value adds none.',
  }),
  telemetry_keep: directive({
    in: ANYWHERE,
    args: rest(keepRule),
    doc: 'Records requests that are not sampled as well if one of these conditions holds at their end: `status>=500 time>1s attempts>1`.',
  }),
  telemetry_log: directive({
    in: ANYWHERE,
    args: rest(logRule),
    doc: 'Sends a log record for each request (`all`), or for requests of which one of these conditions holds at their end: `status>=500 time>1s attempts>1`; `off`: none. A record of a sampled request names its trace.',
  }),
  otel_exporter: directive({
    in: ['http'],
    block: { context: 'otel_exporter', directives: exporterDirectives },
    doc: 'Where spans, log records and figures are sent.',
  }),
  otel_service_name: directive({
    in: ['http'],
    args: text('name'),
    default: 'unknown_service:srv',
    doc: 'Resource attribute `service.name`.',
  }),
  otel_resource_attr: directive({
    in: ['http'],
    args: { name: text('name'), value: text('value') },
    many: true,
    doc: 'Adds a resource attribute.',
  }),
  otel_span_name: directive({
    in: ANYWHERE,
    args: template('name'),
    doc: 'Name of the span of a request. Default: method and location.',
  }),
};
