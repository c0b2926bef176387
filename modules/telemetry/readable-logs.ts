import type { ProtobufLogsSerializer } from '@opentelemetry/otlp-transformer';
import type { LogLevel } from '../../core/contract/log.js';
import type { AccessItem, ErrorItem, LogItem } from './log-items.js';
import { timeOf, type Origin } from './readable-spans.js';
import { requestAttributes } from './span-attributes.js';

/** A log record in the form of the official packages. */
type ReadableLog = Parameters<typeof ProtobufLogsSerializer.serializeRequest>[0][number];

/** Numbers of severities (OpenTelemetry, Logs Data Model, "Severity Fields"). */
const SEVERITIES: Readonly<Record<LogLevel, number>> = {
  debug: 5,
  info: 9,
  notice: 10,
  warn: 13,
  error: 17,
  crit: 18,
  alert: 19,
  emerg: 21,
};

export function readableLog(item: LogItem, origin: Origin): ReadableLog {
  return item.kind === 'error' ? errorLog(item, origin) : accessLog(item, origin);
}

function errorLog(item: ErrorItem, { resource, instrumentationScope }: Origin): ReadableLog {
  const { time, level, message, client, server, request, upstream, host, requestId, connection, worker } = item;
  const attributes = {
    ...(client !== undefined && { 'client.address': client }),
    ...(host !== undefined && { 'server.address': host }),
    ...(server !== undefined && { 'srv.server': server }),
    ...(request !== undefined && { 'srv.request': request }),
    ...(upstream !== undefined && { 'srv.upstream': upstream }),
    ...(requestId !== undefined && { 'srv.request.id': requestId }),
    ...(connection !== undefined && { 'srv.connection.id': connection }),
    'srv.worker': worker,
  };
  return {
    hrTime: timeOf(time),
    hrTimeObserved: timeOf(time),
    severityText: level,
    severityNumber: SEVERITIES[level],
    body: message,
    attributes,
    resource,
    instrumentationScope,
    droppedAttributesCount: 0,
  };
}

function accessLog(item: AccessItem, { resource, instrumentationScope }: Origin): ReadableLog {
  const { start, end, status, method, protocol, traceId, spanId, requestId } = item;
  const attributes = requestAttributes({ ...item, kind: 'request' });
  const { 'url.path': path, 'url.query': query } = attributes;
  const isFailed = status >= 500;
  return {
    hrTime: timeOf(end),
    hrTimeObserved: timeOf(end),
    severityText: isFailed ? 'error' : 'info',
    severityNumber: isFailed ? SEVERITIES.error : SEVERITIES.info,
    body: `"${method} ${path}${query === undefined ? '' : `?${query}`} ${protocol}" ${status}`,
    attributes: {
      ...attributes,
      'http.server.request.duration': Math.max(0, end - start) / 1000,
      'srv.request.id': requestId,
    },
    ...(traceId !== '' && { spanContext: { traceId, spanId, traceFlags: 1 } }),
    resource,
    instrumentationScope,
    droppedAttributesCount: 0,
  };
}
