import { choice, flag, number, optional, rest, size, sizeTemplate, template, text, time } from '../../contract/args.js';
import { method } from '../../contract/method.js';
import { namedGroups } from '../../toolkit/pattern.js';
import { httpModule } from '../../contract/manifest.js';
import { resolverDirectives } from '../../toolkit/resolver.js';
import { ArgError, directive, type ArgType, type Conf } from '../../contract/spec.js';
import { temporaryFolder } from '../../toolkit/temporary-folder.js';
import type { Directive } from '../../contract/tree.js';
import { listenAddress } from '../../net/listen-address.js';
import { listenIdentity, listenParameter } from '../../net/listen-options.js';
import { acceptedDirectives } from './accepted-directives.js';
import { http2Directives } from './http2-directives.js';
import { serverName } from '../../net/server-names.js';

const words = (node: Directive): string => node.args.map((word) => word.text).join(' ');

const groupsInArguments = ({ args }: Directive): readonly string[] => args.flatMap(({ text }) => namedGroups(text));

/** Identity of a server in two configurations: its addresses and names. */
function serverIdentity(server: Directive): string {
  const lines: string[] = [];
  for (const child of server.block ?? []) {
    if (child.name === 'listen') lines.push(`listen ${listenIdentity(child.args.map(({ text }) => text))}`);
    else if (child.name === 'server_name') lines.push(`server_name ${words(child)}`);
  }
  return lines.sort().join('; ');
}

/** connection_pool_size of nginx: what a first line does not fit into serves no request. */
const LEAST_HEADER_BUFFER = 512;

function headerBufferSize(): ArgType<number> {
  const bytes = size();
  return {
    ...bytes,
    parse(value, context) {
      const result = bytes.parse(value, context);
      if (result >= LEAST_HEADER_BUFFER) return result;
      throw new ArgError(
        'the "large_client_header_buffers" size must be equal to or greater than "connection_pool_size"',
        `that is ${LEAST_HEADER_BUFFER} bytes`,
      );
    },
  };
}

const ANYWHERE = ['http', 'server', 'location'] as const;

/** Directives of the engine itself: nginx's ngx_http_core_module, with its defaults. */
export const coreDirectives = {
  http: directive({ in: ['main'], block: 'http', identity: () => '', doc: 'The HTTP engine.' }),
  server: directive({
    in: ['http'],
    block: 'server',
    many: true,
    dynamic: true,
    identity: serverIdentity,
    doc: 'A virtual server.',
  }),
  location: directive({
    in: ['server', 'location'],
    args: { first: text('[= | ~ | ~* | ^~] uri'), second: optional(text('uri')) },
    block: 'location',
    many: true,
    dynamic: true,
    identity: words,
    defines: groupsInArguments,
    doc: 'Configuration for requests whose URI matches.',
  }),
  limit_except: directive({
    in: ['location'],
    args: { methods: rest(method()) },
    block: 'limit_except',
    inherit: 'none',
    doc: 'Access rules, and other settings, for requests with methods other than these. GET includes HEAD.',
  }),
  listen: directive({
    in: ['server'],
    args: { address: listenAddress, parameters: rest(listenParameter, 0) },
    many: true,
    inherit: 'none',
    doc: 'Address and port of the server. A unix socket may have permissions of its own, which it has before anybody can connect: `mode=0660`. With `node=name` other nodes of a cluster have the same line, with addresses of their own.',
  }),
  server_name: directive({
    in: ['server'],
    args: { names: rest(serverName) },
    many: true,
    inherit: 'none',
    defines: groupsInArguments,
    doc: 'Names of the server.',
  }),
  client_header_timeout: directive({
    in: ['http', 'server'],
    args: time(),
    default: '60s',
    doc: 'Timeout for reading the request header.',
  }),
  client_header_buffer_size: directive({ in: ['http', 'server'], args: size(), default: '1k', doc: 'Accepted: heads are read in place.' }),
  large_client_header_buffers: directive({
    in: ['http', 'server'],
    args: { count: number({ min: 1, max: 1024 }), size: headerBufferSize() },
    default: '4 8k',
    doc: 'Number and size of buffers for a large request header: the size limits a line, the product the whole header.',
  }),
  max_headers: directive({
    in: ['http', 'server'],
    args: number({ min: 1 }),
    default: '1000',
    doc: 'Maximum number of header fields of a request.',
  }),
  ignore_invalid_headers: directive({
    in: ['http', 'server'],
    args: flag(),
    default: 'on',
    doc: 'Drops request fields whose names have characters other than letters, digits and hyphens.',
  }),
  underscores_in_headers: directive({
    in: ['http', 'server'],
    args: flag(),
    default: 'off',
    doc: 'Allows underscores in names of request fields.',
  }),
  ...http2Directives,
  ...acceptedDirectives,
  merge_slashes: directive({ in: ['http', 'server'], args: flag(), default: 'on', doc: 'Merges adjacent slashes of a path into one.' }),
  client_max_body_size: directive({
    in: ANYWHERE,
    args: size(),
    default: '1m',
    doc: 'Maximum size of a request body; 0 disables the check.',
  }),
  client_body_buffer_size: directive({
    in: ANYWHERE,
    args: size(),
    default: '16k',
    doc: 'Size of the buffer for a request body; a longer body is written to a temporary file.',
  }),
  client_body_temp_path: directive({
    in: ANYWHERE,
    args: temporaryFolder('client_body_temp_path'),
    default: 'client_body_temp',
    doc: 'Folder of the temporary files with request bodies, and levels of folders in it, named after the last digits of the file.',
  }),
  client_body_in_file_only: directive({
    in: ANYWHERE,
    args: choice('off', 'clean', 'on'),
    default: 'off',
    doc: 'Writes every request body to a file, whose name is in `$request_body_file`: `clean` removes it when the request is over, `on` leaves it.',
  }),
  client_body_in_single_buffer: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'off',
    doc: 'Accepted: `$request_body` joins the pieces of a body when it is used.',
  }),
  client_body_timeout: directive({
    in: ANYWHERE,
    args: time(),
    default: '60s',
    doc: 'Timeout between two successive reads of a request body.',
  }),
  send_timeout: directive({
    in: ANYWHERE,
    args: time(),
    default: '60s',
    doc: 'Timeout between two successive writes to the client.',
  }),
  limit_rate: directive({
    in: ['http', 'server', 'location', 'if in location'],
    args: sizeTemplate('rate'),
    default: '0',
    dynamic: true,
    doc: 'Bytes per second that a response is sent with; 0: no limit.',
  }),
  limit_rate_after: directive({
    in: ['http', 'server', 'location', 'if in location'],
    args: sizeTemplate(),
    default: '0',
    dynamic: true,
    doc: 'Bytes of a response that are sent before limit_rate counts.',
  }),
  keepalive_timeout: directive({
    in: ANYWHERE,
    args: { timeout: time(), header: optional(time({ calendar: true })) },
    default: '75s',
    doc: 'Timeout of an idle client connection; 0 disables keep-alive.',
  }),
  keepalive_disable: directive({
    in: ANYWHERE,
    args: { browsers: rest(choice('none', 'msie6', 'safari')) },
    default: 'msie6',
    doc: 'Closes the connection after each response to Safari on macOS, and after responses to POST requests of Internet Explorer up to version 6.',
  }),
  keepalive_requests: directive({ in: ANYWHERE, args: number(), default: '1000', doc: 'Maximum number of requests over one connection.' }),
  keepalive_time: directive({
    in: ANYWHERE,
    args: time(),
    default: '1h',
    doc: 'Maximum age of a connection, after which it is closed when its current request is finished.',
  }),
  handler_timeout: directive({
    in: ANYWHERE,
    args: time(),
    default: '60s',
    doc: 'Timeout of a request that waits for a handler of a module, which then gets 504; 0 disables it.',
  }),
  lingering_close: directive({
    in: ANYWHERE,
    args: choice('off', 'on', 'always'),
    default: 'on',
    doc: 'Reads from a connection that srv closes until the client has closed it: always, never, or only if the client may still be sending.',
  }),
  lingering_time: directive({
    in: ANYWHERE,
    args: time(),
    default: '30s',
    doc: 'Time limit of reading and discarding data: the rest of a request body, and data on a connection that is being closed.',
  }),
  lingering_timeout: directive({
    in: ANYWHERE,
    args: time(),
    default: '5s',
    doc: 'Time limit of waiting for more of that.',
  }),
  max_ranges: directive({
    in: ANYWHERE,
    args: number(),
    doc: 'Maximum number of ranges in a request; with more, the whole body is sent. 0 disables byte ranges.',
  }),
  satisfy: directive({
    in: ANYWHERE,
    args: choice('all', 'any'),
    default: 'all',
    doc: 'Allows access if all access modules allow it, or any of them.',
  }),
  internal: directive({ in: ['location'], inherit: 'none', doc: 'Restricts the location to internal redirects.' }),
  default_type: directive({
    in: ANYWHERE,
    args: text('mime-type'),
    default: 'text/plain',
    doc: 'Content type of responses for which `types` has none.',
  }),
  types: directive({ in: ANYWHERE, block: 'entries', many: true, doc: 'Content types by file name extension.' }),
  server_tokens: directive({
    in: ANYWHERE,
    args: choice('on', 'off', 'build'),
    default: 'on',
    doc: 'Shows the version in error pages and in the field Server.',
  }),
  chunked_transfer_encoding: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'on',
    doc: 'Sends responses of unknown length in chunks.',
  }),
  absolute_redirect: directive({ in: ANYWHERE, args: flag(), default: 'on', doc: 'Makes redirects of the server absolute.' }),
  port_in_redirect: directive({ in: ANYWHERE, args: flag(), default: 'on', doc: 'Includes the port in absolute redirects.' }),
  server_name_in_redirect: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'off',
    doc: 'Uses the primary server name in absolute redirects.',
  }),
  recursive_error_pages: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'off',
    doc: 'Allows several error pages one after the other.',
  }),
  error_page: directive({
    in: ['http', 'server', 'location', 'if in location'],
    args: { words: rest(template('code ... [=[status]] uri'), 2) },
    many: true,
    doc: 'URI or named location that serves these status codes.',
  }),
  early_hints: directive({
    in: ANYWHERE,
    args: { conditions: rest(template('string')) },
    doc: 'Passes 103 responses (Early Hints) of members to the client if at least one of the strings is not empty and not "0".',
  }),
  ...resolverDirectives(ANYWHERE),
  tcp_nodelay: directive({ in: ANYWHERE, args: flag(), default: 'on', doc: 'Accepted: always on.' }),
  tcp_nopush: directive({ in: ANYWHERE, args: flag(), default: 'off', doc: 'Accepted: the head leaves with the first bytes of the body.' }),
  sendfile: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'off',
    doc: 'Sends files without reading them: the system copies from what it has in memory to the connection. For HTTP/1 without TLS, filters and rates, with the method `epoll`; other files are read.',
  }),
  sendfile_max_chunk: directive({
    in: ANYWHERE,
    args: size(),
    default: '2m',
    doc: 'Most bytes of one call of sendfile: then other connections have their turn. 0: no limit.',
  }),
  reset_timedout_connection: directive({ in: ANYWHERE, args: flag(), default: 'off', doc: 'Accepted; has no effect.' }),
  server_names_hash_max_size: directive({ in: ['http'], args: size(), doc: 'Accepted: tables grow as needed.' }),
  server_names_hash_bucket_size: directive({ in: ['http'], args: size(), doc: 'Accepted: tables grow as needed.' }),
  variables_hash_max_size: directive({ in: ['http'], args: size(), doc: 'Accepted: tables grow as needed.' }),
  variables_hash_bucket_size: directive({ in: ['http'], args: size(), doc: 'Accepted: tables grow as needed.' }),
  types_hash_max_size: directive({ in: ANYWHERE, args: size(), doc: 'Accepted: tables grow as needed.' }),
  types_hash_bucket_size: directive({ in: ANYWHERE, args: size(), doc: 'Accepted: tables grow as needed.' }),
};

export type CoreConf = Conf<typeof coreDirectives>;

/** Has no behaviour of its own: the engine reads these settings when it compiles a scope. */
@httpModule({ name: 'srv_http_core_module', api: 1, directives: coreDirectives })
export class HttpCoreModule {}
