import { hostname } from 'node:os';
import { binaryAddress } from '../contract/binary-address.js';
import type { StreamSession, StreamVariable, StreamVariablePrefix } from '../contract/stream.js';
import { isoTime, logTime, seconds } from '../net/log-time.js';
import { tlvReader } from '../net/prelude/proxy-tlv.js';
import type { Session } from './session/session.js';
import type { SessionAttemptFacts } from './session/upstream-trace.js';
import type { StreamVariables } from './site/variables.js';

/** The engine makes every session itself: its own variables may look after the contract. */
const own = (read: (session: Session) => string | undefined): StreamVariable => read as (session: StreamSession) => string | undefined;

/** Variables of ngx_stream_core_module, by nginx's names and meanings. */
const GETTERS: Readonly<Record<string, StreamVariable>> = {
  binary_remote_addr: ({ connection }) => binaryAddress(connection.remoteAddress),
  remote_addr: ({ connection }) => connection.remoteAddress,
  remote_port: ({ connection }) => portText(connection.remotePort),
  server_addr: ({ connection }) => connection.localAddress,
  server_port: ({ connection }) => portText(connection.localPort),
  server_name: own((session) => session.server.name),
  proxy_protocol_addr: ({ connection }) => connection.proxy?.source?.address,
  proxy_protocol_port: ({ connection }) => connection.proxy?.source?.port.toString(),
  proxy_protocol_server_addr: ({ connection }) => connection.proxy?.destination?.address,
  proxy_protocol_server_port: ({ connection }) => connection.proxy?.destination?.port.toString(),
  connection: ({ connection }) => String(connection.id),
  bytes_sent: (session) => String(session.bytesSent),
  bytes_received: (session) => String(session.bytesReceived),
  session_time: (session) => seconds(Math.max(Date.now() - session.startTime, 0)),
  status: (session) => String(session.status).padStart(3, '0'),
  protocol: (session) => session.protocol,
  hostname: () => hostname(),
  pid: () => String(process.pid),
  msec: () => seconds(Date.now()),
  time_iso8601: () => isoTime(new Date()),
  time_local: () => logTime(new Date()),
};

const PREFIXES: Readonly<Record<string, StreamVariablePrefix>> = {
  proxy_protocol_tlv_: (rest) => {
    const read = tlvReader(rest);
    return ({ connection: { proxy } }) => (proxy === undefined ? undefined : read?.(proxy.tlvs));
  },
};

/** Values of each attempt at a member (ngx_stream_upstream_module). */
const ATTEMPTS: Readonly<Record<string, (attempt: SessionAttemptFacts) => string>> = {
  upstream_addr: ({ address }) => address,
  upstream_bytes_sent: ({ sent }) => String(sent),
  upstream_bytes_received: ({ received }) => String(received),
  upstream_connect_time: ({ connectTime }) => duration(connectTime),
  upstream_first_byte_time: ({ firstByteTime }) => duration(firstByteTime),
  upstream_session_time: ({ sessionTime }) => duration(sessionTime),
};

/** @param version of srv */
export function defineStreamVariables(variables: StreamVariables, version: string): void {
  variables.define('nginx_version', () => version);
  for (const [name, getter] of Object.entries(GETTERS)) variables.define(name, getter);
  for (const [prefix, make] of Object.entries(PREFIXES)) variables.definePrefix(prefix, make);
  for (const [name, show] of Object.entries(ATTEMPTS)) variables.define(name, each(show));
}

/** One value an attempt. Undefined if no upstream was asked. */
function each(show: (attempt: SessionAttemptFacts) => string): StreamVariable {
  return own(({ trace }) => (trace === undefined ? undefined : trace.attempts.map(show).join(', ')));
}

const duration = (milliseconds: number): string => (milliseconds < 0 ? '-' : seconds(milliseconds));

/** A unix socket has none. */
function portText(port: number): string {
  return port === 0 ? '' : String(port);
}
