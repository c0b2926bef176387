import { choice, flag, number, optional, rest, size, sizeTemplate, template, text, time } from '../../module/args.js';
import { method } from '../../module/method.js';
import { namedGroups } from '../../module/pattern.js';
import { httpModule } from '../../module/manifest.js';
import { ArgError, directive, type ArgType, type Conf } from '../../module/spec.js';
import { temporaryFolder } from '../../module/temporary-folder.js';
import type { Directive } from '../../module/tree.js';
import { listenAddress } from '../../net/listen-address.js';
import { listenParameter } from '../../net/listen-options.js';
import { http2Directives } from './http2-directives.js';
import { serverName } from './server-names.js';

const words = (node: Directive): string => node.args.map((word) => word.text).join(' ');

const groupsInArguments = ({ args }: Directive): readonly string[] => args.flatMap(({ text }) => namedGroups(text));

/** What makes two servers of two configurations the same one: where it listens and its names. */
function serverIdentity(server: Directive): string {
  const lines: string[] = [];
  for (const child of server.block ?? []) {
    if (child.name === 'listen') lines.push(`listen ${child.args[0]?.text ?? ''}`);
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
    doc: 'Address and port of the server.',
  }),
  server_name: directive({
    in: ['server'],
    args: { names: rest(serverName) },
    many: true,
    inherit: 'none',
    defines: groupsInArguments,
    doc: 'Names of the server.',
  }),
  client_header_timeout: directive({ in: ['http', 'server'], args: time(), default: '60s', doc: 'Time for a whole request head.' }),
  client_header_buffer_size: directive({ in: ['http', 'server'], args: size(), default: '1k', doc: 'Accepted: heads are read in place.' }),
  large_client_header_buffers: directive({
    in: ['http', 'server'],
    args: { count: number({ min: 1, max: 1024 }), size: headerBufferSize() },
    default: '4 8k',
    doc: 'Longest line of a head, and how many such lines the whole head may measure.',
  }),
  max_headers: directive({ in: ['http', 'server'], args: number({ min: 1 }), default: '1000', doc: 'Most header fields of a request.' }),
  ignore_invalid_headers: directive({
    in: ['http', 'server'],
    args: flag(),
    default: 'on',
    doc: 'Fields of a request whose names have other characters than letters, digits, hyphens are dropped.',
  }),
  underscores_in_headers: directive({ in: ['http', 'server'], args: flag(), default: 'off', doc: 'Underscores in such names are valid.' }),
  ...http2Directives,
  merge_slashes: directive({ in: ['http', 'server'], args: flag(), default: 'on', doc: 'Adjacent slashes of a path become one.' }),
  client_max_body_size: directive({ in: ANYWHERE, args: size(), default: '1m', doc: 'Longest request body; 0: any.' }),
  client_body_buffer_size: directive({
    in: ANYWHERE,
    args: size(),
    default: '16k',
    doc: 'Bytes of a request body that are kept in memory; a longer one is written to a temporary file.',
  }),
  client_body_temp_path: directive({
    in: ANYWHERE,
    args: temporaryFolder('client_body_temp_path'),
    default: 'client_body_temp',
    doc: 'Folder of the temporary files with request bodies, and levels of folders in it, named after the last digits of the file.',
  }),
  client_body_in_single_buffer: directive({ in: ANYWHERE, args: flag(), default: 'off', doc: 'Accepted; has no effect.' }),
  client_body_timeout: directive({ in: ANYWHERE, args: time(), default: '60s', doc: 'Longest pause between two reads of a request body.' }),
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
    doc: 'Bytes per second that a response is sent with; 0: no limit.',
  }),
  limit_rate_after: directive({
    in: ['http', 'server', 'location', 'if in location'],
    args: sizeTemplate(),
    default: '0',
    doc: 'Bytes of a response that are sent before limit_rate counts.',
  }),
  keepalive_timeout: directive({
    in: ANYWHERE,
    args: { timeout: time(), header: optional(time({ calendar: true })) },
    default: '75s',
    doc: 'How long an idle connection stays open; 0: it is closed after the response.',
  }),
  keepalive_requests: directive({ in: ANYWHERE, args: number(), default: '1000', doc: 'Requests served over one connection; 0: one.' }),
  keepalive_time: directive({
    in: ANYWHERE,
    args: time(),
    default: '1h',
    doc: 'Age at which a connection is closed after its current request.',
  }),
  handler_timeout: directive({
    in: ANYWHERE,
    args: time(),
    default: '60s',
    doc: 'How long a request waits for a handler of a module before it gets 504; 0 is no limit.',
  }),
  lingering_timeout: directive({ in: ANYWHERE, args: time(), default: '5s', doc: 'How long a closing connection is read from.' }),
  max_ranges: directive({
    in: ANYWHERE,
    args: number(),
    doc: 'Maximum number of ranges in a request; with more, the whole body is sent. 0 disables byte ranges.',
  }),
  satisfy: directive({
    in: ANYWHERE,
    args: choice('all', 'any'),
    default: 'all',
    doc: 'Whether all access rules or any of them must allow.',
  }),
  internal: directive({ in: ['location'], inherit: 'none', doc: 'The location is for internal redirects only.' }),
  default_type: directive({
    in: ANYWHERE,
    args: text('mime-type'),
    default: 'text/plain',
    doc: 'Content type of responses for which `types` has none.',
  }),
  types: directive({ in: ANYWHERE, block: 'entries', many: true, doc: 'Content types by file name extension.' }),
  server_tokens: directive({ in: ANYWHERE, args: choice('on', 'off', 'build'), default: 'on', doc: 'Whether the version is shown.' }),
  chunked_transfer_encoding: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'on',
    doc: 'Sends responses of unknown length in chunks.',
  }),
  absolute_redirect: directive({ in: ANYWHERE, args: flag(), default: 'on', doc: 'Whether redirects of the server are absolute.' }),
  port_in_redirect: directive({ in: ANYWHERE, args: flag(), default: 'on', doc: 'Whether absolute redirects name the port.' }),
  server_name_in_redirect: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'off',
    doc: 'Whether absolute redirects use the server name.',
  }),
  recursive_error_pages: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'off',
    doc: 'Whether an error of an error page has an error page.',
  }),
  error_page: directive({
    in: ['http', 'server', 'location', 'if in location'],
    args: { words: rest(template('code ... [=[status]] uri'), 2) },
    many: true,
    doc: 'URI or named location that serves these status codes.',
  }),
  tcp_nodelay: directive({ in: ANYWHERE, args: flag(), default: 'on', doc: 'Accepted: always on.' }),
  tcp_nopush: directive({ in: ANYWHERE, args: flag(), default: 'off', doc: 'Accepted: the head leaves with the first bytes of the body.' }),
  sendfile: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'off',
    doc: 'Accepted: Node.js has no sendfile, files are read and written in pieces.',
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
