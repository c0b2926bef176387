import { flag, rest, size, time } from '../../contract/args.js';
import { streamModule } from '../../contract/manifest.js';
import { namedGroups } from '../../toolkit/pattern.js';
import { resolverDirectives } from '../../toolkit/resolver.js';
import { directive, type Conf } from '../../contract/spec.js';
import type { Directive } from '../../contract/tree.js';
import { streamListenAddress } from '../../net/listen-address.js';
import { listenIdentity, streamListenParameter } from '../../net/listen-options.js';
import { serverName } from '../../net/server-names.js';

/** Identity of a server in two configurations: its addresses and names. */
function serverIdentity(server: Directive): string {
  const lines: string[] = [];
  for (const { name, args } of server.block ?? []) {
    const words = args.map(({ text }) => text);
    if (name === 'listen') lines.push(`listen ${listenIdentity(words)}${words.includes('udp') ? ' udp' : ''}`);
    else if (name === 'server_name') lines.push(`server_name ${words.join(' ')}`);
  }
  return lines.sort().join('; ');
}

const ANYWHERE = ['stream', 'stream server'] as const;

/** Directives of the engine itself: nginx's ngx_stream_core_module, with its defaults. */
export const streamDirectives = {
  stream: directive({ in: ['main'], block: 'stream', identity: () => '', doc: 'The stream engine: TCP and UDP.' }),
  server: directive({
    in: ['stream'],
    block: 'stream server',
    many: true,
    dynamic: true,
    identity: serverIdentity,
    doc: 'A server of the stream engine.',
  }),
  listen: directive({
    in: ['stream server'],
    args: { address: streamListenAddress, parameters: rest(streamListenParameter, 0) },
    many: true,
    inherit: 'none',
    doc: 'Address and port of the server; with udp, it receives datagrams.',
  }),
  server_name: directive({
    in: ['stream server'],
    args: { names: rest(serverName) },
    many: true,
    inherit: 'none',
    defines: ({ args }) => args.flatMap(({ text }) => namedGroups(text)),
    doc: 'Names of the server. The server is chosen by the name that the client asks for in its TLS handshake.',
  }),
  preread_buffer_size: directive({
    in: ANYWHERE,
    args: size(),
    default: '16k',
    doc: 'Most bytes that are read before the server knows what to do with the session.',
  }),
  preread_timeout: directive({ in: ANYWHERE, args: time(), default: '30s', doc: 'Time limit of that.' }),
  proxy_protocol_timeout: directive({
    in: ANYWHERE,
    args: time(),
    default: '30s',
    doc: 'Timeout for reading the header of the PROXY protocol.',
  }),
  handler_timeout: directive({
    in: ANYWHERE,
    args: time(),
    default: '60s',
    doc: 'Timeout of a session that waits for a handler of a module, which then ends with status 500; 0 disables it.',
  }),
  ...resolverDirectives(ANYWHERE),
  tcp_nodelay: directive({ in: ANYWHERE, args: flag(), default: 'on', doc: 'Accepted: always on.' }),
  server_names_hash_max_size: directive({ in: ['stream'], args: size(), doc: 'Accepted: tables grow as needed.' }),
  server_names_hash_bucket_size: directive({ in: ['stream'], args: size(), doc: 'Accepted: tables grow as needed.' }),
  variables_hash_max_size: directive({ in: ['stream'], args: size(), doc: 'Accepted: tables grow as needed.' }),
  variables_hash_bucket_size: directive({ in: ['stream'], args: size(), doc: 'Accepted: tables grow as needed.' }),
};

export type StreamCoreConf = Conf<typeof streamDirectives>;

/** Has no behaviour of its own: the engine reads these settings when it compiles a server. */
@streamModule({ name: 'srv_stream_core_module', api: 1, directives: streamDirectives })
export class StreamCoreModule {}
