import { hostname } from 'node:os';
import type { ServerInfo } from '../../core/contract/server-info.js';
import type { ExportSettings } from './export-messages.js';
import type { TelemetryScope } from './trace-settings.js';

/** Paths of signals, which the configuration of another program may have at the end of its URL. */
const SIGNAL_PATH = /\/v1\/(?:traces|logs|metrics)$/;

/** @returns undefined: there is no `otel_exporter` */
export function exporterSettings(scope: TelemetryScope, info: ServerInfo): ExportSettings | undefined {
  const { otel_exporter: exporter, otel_service_name: name, otel_resource_attr: attributes } = scope.conf;
  if (exporter === undefined) return undefined;
  const { endpoint, trusted_certificate: certificate, header: headers, batch_size: batchSize, batch_count: count } = exporter.block;
  if (endpoint === undefined) return scope.fail('"otel_exporter" requires "endpoint"', 'otel_exporter', 'endpoint http://127.0.0.1:4318;');
  const { interval, timeout, gzip, metrics, metrics_interval: metricsInterval, logs } = exporter.block;
  return {
    endpoint: endpoint.replace(SIGNAL_PATH, '').replace(/\/+$/, ''),
    headers: Object.fromEntries(headers.map(({ name, value }) => [name, value])),
    certificates: certificate === undefined ? undefined : scope.file(certificate, ({ text }) => text, 'otel_exporter'),
    gzip,
    interval,
    timeout,
    batchSize,
    limit: batchSize * count,
    logLevel: logs === 'off' ? undefined : logs,
    metricsInterval: metrics ? metricsInterval : undefined,
    version: info.version,
    resource: {
      'service.name': name,
      'service.version': info.version,
      'service.instance.id': info.nodeName,
      'host.name': hostname(),
      'process.pid': process.pid,
      ...Object.fromEntries(attributes.map(({ name, value }) => [name, value])),
    },
  };
}
