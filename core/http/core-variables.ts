import { hostname } from 'node:os';
import { binaryAddress } from '../contract/binary-address.js';
import type { HttpRequest, VariableGetter, VariablePrefix } from '../contract/http.js';
import { isoTime, logTime, seconds } from '../net/log-time.js';
import { tlvReader } from '../net/prelude/proxy-tlv.js';
import { cookieValue } from './request/cookies.js';
import type { HttpVariables } from './site/variables.js';
import type { Request } from './request/request.js';
import { publicStatus } from './request/status.js';
import { defineUpstreamVariables, valuesIn } from './member/upstream-variables.js';

/** The engine makes every request itself: its own variables may look after the contract. */
const own = (read: (request: Request) => string | undefined): VariableGetter => read as (request: HttpRequest) => string | undefined;

/** Values that a request with a rejected head does not have. */
function ofHead(read: (request: Request) => string): VariableGetter {
  return own((request) => (request.text === '' ? undefined : read(request)));
}

/** Variables of ngx_http_core_module, by nginx's names and meanings. */
const GETTERS: Readonly<Record<string, VariableGetter>> = {
  args: (request) => request.args || undefined,
  query_string: (request) => request.args || undefined,
  is_args: (request) => (request.args === '' ? '' : '?'),
  uri: ofHead((request) => request.uri),
  document_uri: ofHead((request) => request.uri),
  request_uri: ofHead((request) => request.requestUri),
  request_method: ofHead((request) => request.method),
  request: own((request) => request.requestLine),
  request_id: (request) => request.requestId,
  request_body: own((request) => request.body?.stored?.store.whole?.latin1Slice() || undefined),
  request_body_file: own((request) => request.body?.stored?.store.path || undefined),
  request_length: own((request) => String(request.bytesReceived)),
  request_time: own((request) => seconds(Math.max(Date.now() - request.startTime, 0))),
  server_protocol: ofHead((request) => request.protocol),
  http2: own((request) => (request.protocol !== 'HTTP/2.0' ? '' : request.connection.secure ? 'h2' : 'h2c')),
  scheme: (request) => (request.connection.secure ? 'https' : 'http'),
  https: (request) => (request.connection.secure ? 'on' : ''),
  host: (request) => request.host,
  hostname: () => hostname(),
  server_name: own((request) => request.server.name),
  server_addr: (request) => request.connection.localAddress,
  server_port: (request) => portText(request.connection.localPort),
  binary_remote_addr: (request) => binaryAddress(request.connection.remoteAddress),
  remote_addr: (request) => request.connection.remoteAddress,
  request_port: own(requestPort),
  is_request_port: own((request) => (requestPort(request) === undefined ? '' : ':')),
  pipe: (request) => (request.connection.isPipelined ? 'p' : '.'),
  remote_user: (request) => basicUser(request.header(request.isForProxy ? 'proxy-authorization' : 'authorization')),
  remote_port: (request) => portText(request.connection.remotePort),
  proxy_protocol_addr: (request) => request.connection.proxy?.source?.address,
  proxy_protocol_port: (request) => request.connection.proxy?.source?.port.toString(),
  proxy_protocol_server_addr: (request) => request.connection.proxy?.destination?.address,
  proxy_protocol_server_port: (request) => request.connection.proxy?.destination?.port.toString(),
  limit_rate: own((request) => String(request.limitRate ?? 0)),
  connection: (request) => String(request.connection.id),
  connection_time: (request) => seconds(Math.max(Date.now() - request.connection.acceptedAt, 0)),
  connection_requests: (request) => String(request.connection.requests),
  content_length: own((request) => request.header('content-length') ?? lengthInChunks(request)),
  content_type: (request) => request.header('content-type'),
  status: own((request) => String(publicStatus(request.errorStatus || request.status)).padStart(3, '0')),
  bytes_sent: (request) => String(request.bytesSent),
  body_bytes_sent: (request) => String(request.bodyBytesSent),
  request_completion: own((request) => (request.completed ? 'OK' : '')),
  pid: () => String(process.pid),
  msec: () => seconds(Date.now()),
  time_iso8601: own((request) => isoTime(new Date(request.context.clock.now))),
  time_local: own((request) => logTime(new Date(request.context.clock.now))),
};

const PREFIXES: Readonly<Record<string, VariablePrefix>> = {
  http_: (rest) => {
    const name = fieldName(rest);
    return own((request) => request.headerVariable(name));
  },
  sent_http_: sentHeader,
  sent_trailer_: (rest) => {
    const name = fieldName(rest);
    return own((request) => valuesIn(request.response.trailers, name).join(', ') || undefined);
  },
  proxy_protocol_tlv_: (rest) => {
    const read = tlvReader(rest);
    return ({ connection: { proxy } }) => (proxy === undefined ? undefined : read?.(proxy.tlvs));
  },
  arg_: (rest) => (request) => argument(request.args, rest),
  cookie_: (rest) => (request) => cookieValue(request.header('cookie'), rest),
};

/** @param version of srv */
export function defineCoreVariables(variables: HttpVariables, version: string): void {
  variables.define('nginx_version', () => version);
  for (const [name, getter] of Object.entries(GETTERS)) variables.define(name, getter);
  for (const [prefix, make] of Object.entries(PREFIXES)) variables.definePrefix(prefix, make);
  defineUpstreamVariables(variables);
}

/** The port of the authority in the request line, else of the Host field, without zeros in front. */
function requestPort(request: Request): string | undefined {
  if (request.text === '') return undefined;
  const { hostStart, hostNameEnd, hostEnd } = request.context.headOf(request);
  const port = hostStart < 0 ? 0 : Number(request.text.slice(hostNameEnd + 1, hostEnd));
  return port === 0 ? undefined : String(port);
}

/** A unix socket has none. */
function portText(port: number): string {
  return port === 0 ? '' : String(port);
}

function fieldName(rest: string): string {
  return rest.toLowerCase().replaceAll('_', '-');
}

function sentHeader(rest: string): VariableGetter {
  const name = fieldName(rest);
  if (name === 'content-length') return own((request) => (request.sentLength < 0 ? undefined : String(request.sentLength)));
  if (name === 'connection') return own(({ status, keepAlive }) => (status === 101 ? 'upgrade' : keepAlive ? 'keep-alive' : 'close'));
  if (name === 'transfer-encoding') return own((request) => (request.chunked ? 'chunked' : undefined));
  return own((request) => request.response.all(name));
}

/** For a body without a length in a field: known when it has arrived. */
function lengthInChunks({ body }: Request): string | undefined {
  return body?.complete === true ? String(body.received) : undefined;
}

/** First argument of that name, as it was sent; names are compared without case as nginx does. */
function argument(args: string, name: string): string | undefined {
  if (args === '') return undefined;
  const wanted = name.toLowerCase();
  for (const pair of args.split('&')) {
    const equals = pair.indexOf('=');
    if (equals > 0 && pair.slice(0, equals).toLowerCase() === wanted) return pair.slice(equals + 1);
  }
  return undefined;
}

/** User name of Basic authentication (RFC 7617, 2). Whether the password is right is not looked at. */
function basicUser(authorization: string | undefined): string | undefined {
  const credentials = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(authorization ?? '')?.[1];
  if (credentials === undefined) return undefined;
  const text = Buffer.from(credentials, 'base64').latin1Slice();
  const colon = text.indexOf(':');
  return colon > 0 ? text.slice(0, colon) : undefined;
}
