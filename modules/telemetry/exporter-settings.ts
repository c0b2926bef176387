import { hostname } from 'node:os';
import type { ServerInfo } from '../../core/contract/server-info.js';
import type { ExportSettings } from './export-messages.js';
import type { TelemetryScope } from './trace-settings.js';

/** Where OTLP has its traces below an endpoint. */
const TRACES = '/v1/traces';

/** @returns undefined: there is no `otel_exporter` */
export function exporterSettings(scope: TelemetryScope, info: ServerInfo): ExportSettings | undefined {
  const { otel_exporter: exporter, otel_service_name: name, otel_resource_attr: attributes } = scope.conf;
  if (exporter === undefined) return undefined;
  const { endpoint, trusted_certificate: certificate, header: headers, batch_size: batchSize, batch_count: count } = exporter.block;
  if (endpoint === undefined) return scope.fail('"otel_exporter" requires "endpoint"', 'otel_exporter', 'endpoint http://127.0.0.1:4318;');
  const { interval, timeout, gzip } = exporter.block;
  return {
    url: endpoint.endsWith(TRACES) ? endpoint : `${endpoint.replace(/\/+$/, '')}${TRACES}`,
    headers: Object.fromEntries(headers.map(({ name, value }) => [name, value])),
    certificates: certificate === undefined ? undefined : scope.file(certificate, ({ text }) => text, 'otel_exporter'),
    gzip,
    interval,
    timeout,
    batchSize,
    limit: batchSize * count,
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
