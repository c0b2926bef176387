import type { AttemptRecord, CacheRecord, RequestRecord, SpanRecord } from './span-records.js';

/** Value of an attribute. */
type Value = string | number | boolean;

/** A span as it is exported. Names of attributes are those of OpenTelemetry's stable conventions for HTTP, and `srv.…`. */
export interface ShownSpan {
  readonly name: string;
  /** As the API of OpenTelemetry counts them. */
  readonly kind: typeof INTERNAL | typeof SERVER | typeof CLIENT;
  readonly attributes: Record<string, Value>;
  /** Undefined: no error. */
  readonly error: string | undefined;
}

export const INTERNAL = 0;
export const SERVER = 1;
export const CLIENT = 2;

/** Methods that stand for themselves; others are `_OTHER`, so that a client cannot make names of spans. */
const KNOWN_METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH', 'QUERY']);
/** Parameters whose values are signatures: the conventions want them replaced. */
const SECRET_PARAMETERS = /(^|&)(AWSAccessKeyId|Signature|sig|X-Goog-Signature)=[^&]*/g;

export function shownSpan(record: SpanRecord): ShownSpan {
  if (record.kind === 'attempt') return attemptSpan(record);
  return record.kind === 'cache' ? cacheSpan(record) : requestSpan(record);
}

/** Attributes of a request, as its span and its log record have them. */
export function requestAttributes(record: RequestRecord): Record<string, Value> {
  const { method, target, route, status } = record;
  const attributes: Record<string, Value> = {};
  setMethod(attributes, method);
  const query = target.indexOf('?');
  attributes['url.scheme'] = record.isSecure ? 'https' : 'http';
  attributes['url.path'] = query < 0 ? target : target.slice(0, query);
  if (query >= 0) attributes['url.query'] = withoutSecrets(target.slice(query + 1));
  if (record.host !== '') attributes['server.address'] = record.host;
  if (record.serverPort > 0) attributes['server.port'] = record.serverPort;
  attributes['network.protocol.version'] = record.protocol.replace(/^HTTP\//, '').replace(/^2\.0$/, '2');
  attributes['client.address'] = record.client;
  attributes['network.peer.address'] = record.peer;
  if (record.peerPort > 0) attributes['network.peer.port'] = record.peerPort;
  if (record.userAgent !== '') attributes['user_agent.original'] = record.userAgent;
  if (route !== '') attributes['http.route'] = route;
  if (status > 0) attributes['http.response.status_code'] = status;
  attributes['http.response.body.size'] = record.bodySent;
  if (record.cacheStatus !== '') attributes['srv.cache.status'] = record.cacheStatus;
  for (const [key, value] of record.extra) attributes[key] = value;
  if (status >= 500) attributes['error.type'] = String(status);
  return attributes;
}

function requestSpan(record: RequestRecord): ShownSpan {
  const { kind, method, route, status } = record;
  const attributes = requestAttributes(record);
  const isError = status >= 500;
  const usual = `${kind === 'subrequest' ? 'subrequest' : spanMethod(method)} ${route}`.trimEnd();
  return { name: record.name || usual, kind: kind === 'request' ? SERVER : INTERNAL, attributes, error: isError ? '' : undefined };
}

function attemptSpan({ method, url, address, upstream, number, isReused, status, failure, ...times }: AttemptRecord): ShownSpan {
  const attributes: Record<string, Value> = {};
  setMethod(attributes, method);
  const { host, port } = placeOf(address);
  attributes['server.address'] = attributes['network.peer.address'] = host;
  if (port !== undefined) attributes['server.port'] = attributes['network.peer.port'] = port;
  if (url !== '') attributes['url.full'] = fullUrl(url);
  if (status > 0 && failure === '') attributes['http.response.status_code'] = status;
  if (number > 1) attributes['http.request.resend_count'] = number - 1;
  attributes['srv.upstream'] = upstream;
  attributes['srv.connection.reused'] = isReused;
  if (times.queueTime > 0) attributes['srv.queue.time'] = times.queueTime / 1000;
  if (times.connectTime >= 0) attributes['srv.connect.time'] = times.connectTime / 1000;
  if (times.headerTime >= 0) attributes['srv.header.time'] = times.headerTime / 1000;
  const isError = failure !== '' || status >= 400 || status === 0;
  if (isError) attributes['error.type'] = errorType(status, failure);
  return { name: spanMethod(method), kind: CLIENT, attributes, error: isError ? failure : undefined };
}

function cacheSpan({ cacheStatus }: CacheRecord): ShownSpan {
  return { name: 'cache', kind: INTERNAL, attributes: { 'srv.cache.status': cacheStatus }, error: undefined };
}

/** Few values, as the conventions want: the status of a response, `timeout`, or that there was none. */
function errorType(status: number, failure: string): string {
  if (failure === '') return status === 0 ? 'cancelled' : String(status);
  if (/timed out/.test(failure)) return 'timeout';
  if (/refused/.test(failure)) return 'connection_refused';
  if (/reset/.test(failure)) return 'connection_reset';
  return /^it responded with (\d{3})/.exec(failure)?.[1] ?? '_OTHER';
}

const spanMethod = (method: string): string => (KNOWN_METHODS.has(method) ? method : 'HTTP');

function setMethod(attributes: Record<string, Value>, method: string): void {
  const isKnown = KNOWN_METHODS.has(method);
  attributes['http.request.method'] = isKnown ? method : '_OTHER';
  if (!isKnown) attributes['http.request.method_original'] = method;
}

const withoutSecrets = (query: string): string => query.replace(SECRET_PARAMETERS, '$1$2=REDACTED');

function fullUrl(url: string): string {
  const query = url.indexOf('?');
  return query < 0 ? url : `${url.slice(0, query)}?${withoutSecrets(url.slice(query + 1))}`;
}

/** `10.0.0.1:80`, `[::1]:80`, `unix:/path`. */
function placeOf(address: string): { readonly host: string; readonly port: number | undefined } {
  if (address.startsWith('unix:')) return { host: address.slice('unix:'.length), port: undefined };
  const [, host = address, port] = /^\[?(.*?)\]?:(\d+)$/.exec(address) ?? [];
  return { host, port: port === undefined ? undefined : Number(port) };
}
