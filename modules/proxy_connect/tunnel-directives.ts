/** Directives of nginx's own module for CONNECT (ngx_http_tunnel_module, 1.31). */
import { choice, flag, number, optional, rest, size, template, time } from '../../core/contract/args.js';
import { directive } from '../../core/contract/spec.js';

const IN = ['http', 'server', 'location'] as const;

export const tunnelDirectives = {
  tunnel_pass: directive({
    in: ['server', 'location', 'if in location'],
    args: optional(template('upstream | host:port | unix:path')),
    inherit: 'none',
    doc: 'Opens tunnels for CONNECT requests, by default to the server that the client names, at any port. With an address: to a member of that upstream, or to that server. Addresses that variables name are subject to proxy_connect_destination. A CONNECT request has no path: without this directive in the server it is handled in the location of the path /.',
  }),
  tunnel_bind: directive({ in: IN, args: template('address[:port] | off'), doc: 'Local address that connections to servers come from.' }),
  tunnel_connect_timeout: directive({
    in: IN,
    args: time(),
    default: '60s',
    doc: 'Timeout for connecting to a member of an upstream, or to a server that the client names, all its addresses together.',
  }),
  tunnel_read_timeout: directive({
    in: IN,
    args: time(),
    default: '60s',
    doc: 'Time after which a tunnel ends in which no byte has moved.',
  }),
  tunnel_next_upstream: directive({
    in: IN,
    args: { cases: rest(choice('error', 'timeout', 'off')) },
    default: 'error timeout',
    doc: 'Cases in which the next member of the upstream is tried. For a server that the client names its next address is tried in both cases.',
  }),
  tunnel_next_upstream_tries: directive({
    in: IN,
    args: number(),
    default: '0',
    doc: 'Maximum number of members or addresses tried for a request; 0: no limit.',
  }),
  tunnel_next_upstream_timeout: directive({
    in: IN,
    args: time(),
    default: '0',
    doc: 'Time limit for trying the next member of the upstream; 0: no limit.',
  }),
  tunnel_send_timeout: directive({
    in: IN,
    args: time(),
    default: '60s',
    doc: 'Time in which the last bytes of a tunnel may leave for the member.',
  }),
  tunnel_buffer_size: directive({ in: IN, args: size(), doc: 'Accepted: bytes are passed on in the buffers they were read into.' }),
  tunnel_send_lowat: directive({ in: IN, args: size(), doc: 'Accepted; has no effect.' }),
  tunnel_socket_keepalive: directive({ in: IN, args: flag(), doc: 'Sets SO_KEEPALIVE for connections to members.' }),
};
