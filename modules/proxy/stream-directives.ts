import { choice, flag, number, optional, size, sizeTemplate, template, time } from '../../core/contract/args.js';
import { directive } from '../../core/contract/spec.js';
import type { StreamScope, StreamSession } from '../../core/contract/stream.js';
import { upstreamTlsDirectives } from '../../core/toolkit/tls/upstream-directives.js';

const ANYWHERE = ['stream', 'stream server'] as const;

export const directives = {
  proxy_pass: directive({
    in: ['stream server'],
    args: template<StreamSession>('address'),
    inherit: 'none',
    dynamic: true,
    doc: 'Address or upstream that sessions are passed to; it may contain variables.',
  }),
  proxy_bind: directive({
    in: ANYWHERE,
    args: { address: template<StreamSession>('address | off'), transparent: optional(choice('transparent')) },
    doc: 'Local address of connections to the upstream. "transparent" is not supported: Node.js cannot set IP_TRANSPARENT.',
  }),
  proxy_buffer_size: directive({
    in: ANYWHERE,
    args: size(),
    default: '16k',
    doc: 'Accepted: memory is used in pieces of up to 64k, and at most two of them wait for a slow side.',
  }),
  proxy_connect_timeout: directive({
    in: ANYWHERE,
    args: time(),
    default: '60s',
    doc: 'Timeout for connecting to a server of the upstream.',
  }),
  proxy_timeout: directive({
    in: ANYWHERE,
    args: time(),
    default: '10m',
    doc: 'Timeout between two successive reads or writes on either connection.',
  }),
  proxy_download_rate: directive({
    in: ANYWHERE,
    args: sizeTemplate<StreamSession>('rate'),
    default: '0',
    doc: 'Bytes per second that are read from the upstream for a session; 0: no limit.',
  }),
  proxy_upload_rate: directive({
    in: ANYWHERE,
    args: sizeTemplate<StreamSession>('rate'),
    default: '0',
    doc: 'Bytes per second that are read from the client; 0: no limit.',
  }),
  proxy_half_close: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'off',
    doc: 'Closes each direction by itself: a client that has sent everything still receives.',
  }),
  proxy_next_upstream: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'on',
    doc: 'Passes the session to the next server when a connection cannot be established.',
  }),
  proxy_next_upstream_timeout: directive({ in: ANYWHERE, args: time(), default: '0', doc: 'Time limit of that; 0: none.' }),
  proxy_next_upstream_tries: directive({ in: ANYWHERE, args: number(), default: '0', doc: 'Number of servers that may be tried; 0: all.' }),
  proxy_protocol: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'off',
    doc: 'Sends the address of the client to the upstream with the PROXY protocol.',
  }),
  proxy_requests: directive({
    in: ANYWHERE,
    args: number(),
    default: '0',
    doc: 'Datagrams of a client after which the next one begins a new session; 0: no limit.',
  }),
  proxy_responses: directive({
    in: ANYWHERE,
    args: number(),
    doc: 'Datagrams that the upstream sends in response to one of the client; after them the session ends. Default: no limit.',
  }),
  proxy_socket_keepalive: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'off',
    doc: 'Enables TCP keepalive on connections to the upstream.',
  }),
  proxy_ssl: directive({ in: ANYWHERE, args: flag(), default: 'off', doc: 'Speaks TLS with the upstream.' }),
  ...upstreamTlsDirectives<StreamSession>(ANYWHERE),
  proxy_session_drop: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'off',
    doc: 'Accepted: sessions stay with a server that is removed or marked as unavailable.',
  }),
};

export type StreamProxyScope = StreamScope<typeof directives>;
