import { errorAt } from '../../config/errors.js';
import { sizeOf } from '../../contract/args.js';
import type { Template } from '../../contract/http.js';
import { compilePattern } from '../../toolkit/pattern.js';
import { ArgError } from '../../contract/spec.js';
import { levelsOf } from '../../toolkit/temporary-folder.js';
import { locationName } from '../../toolkit/location-name.js';
import type { Directive } from '../../contract/tree.js';
import type { NameResolver } from '../../net/dns/resolution.js';
import { NAME_WITH_UNDERSCORES, PLAIN_NAME, TOKEN } from '../../net/http1/characters.js';
import type { HeadLimits } from '../../net/http1/message-head.js';
import type { ContentTypes } from './content-types.js';
import type { CoreConf } from './core-module.js';
import { listenOptions } from '../../net/listen-lines.js';
import { parseListen, type ListenOptions } from '../../net/listen-options.js';
import type { ServerDialect } from '../../net/server-dialect.js';
import type { ErrorPage, LocationMatch, LocationSettings } from './location.js';
import { type StorePlan, TemporaryPath } from './temporary-path.js';
import type { ServerSettings } from './virtual-server.js';

/** Name of a server with `server_tokens on`. */
export interface Product {
  readonly name: string;
  readonly version: string;
}

export function locationSettings(
  conf: CoreConf,
  product: Product,
  contentTypes: ContentTypes,
  resolver: NameResolver | undefined,
  autoRedirect: boolean,
): LocationSettings {
  return {
    clientMaxBodySize: conf.client_max_body_size,
    clientBodyBufferSize: conf.client_body_buffer_size,
    clientBodyStore: clientBodyStore(conf),
    clientBodyTimeout: conf.client_body_timeout,
    keepaliveTimeout: conf.keepalive_timeout.timeout,
    keepAliveFields: keepAliveFields(conf.keepalive_timeout.header),
    keepaliveRequests: conf.keepalive_requests,
    keepaliveTime: conf.keepalive_time,
    maxRanges: conf.max_ranges ?? Infinity,
    sendTimeout: conf.send_timeout,
    sendFile: !conf.sendfile ? 0 : conf.sendfile_max_chunk === 0 ? Infinity : conf.sendfile_max_chunk,
    limitRate: unlessZero(conf.limit_rate),
    limitRateAfter: unlessZero(conf.limit_rate_after),
    http2ChunkSize: conf.http2_chunk_size,
    lingering: { close: conf.lingering_close, time: conf.lingering_time, timeout: conf.lingering_timeout },
    keepaliveDisable: conf.keepalive_disable.browsers,
    handlerTimeout: conf.handler_timeout,
    satisfyAny: conf.satisfy === 'any',
    internal: conf.internal === true,
    contentTypes,
    defaultType: conf.default_type,
    serverToken: conf.server_tokens === 'off' ? product.name : `${product.name}/${product.version}`,
    chunkedTransferEncoding: conf.chunked_transfer_encoding,
    absoluteRedirect: conf.absolute_redirect,
    portInRedirect: conf.port_in_redirect,
    serverNameInRedirect: conf.server_name_in_redirect,
    recursiveErrorPages: conf.recursive_error_pages,
    errorPages: conf.error_page.map((line) => errorPage(line.words)),
    earlyHints: conf.early_hints?.conditions ?? [],
    resolver,
    autoRedirect,
  };
}

/** Bytes of a request body that may wait for the disk before the client has to. */
const BODY_WRITE_AHEAD = 65_536;
/** Treatment of the file with a request body (client_body_in_file_only). */
const BODY_FILE_NAMES = { off: 'none', clean: 'until-closed', on: 'stays' } as const;

function clientBodyStore(conf: CoreConf): StorePlan {
  const { client_body_in_file_only: inFileOnly, client_body_temp_path: folder } = conf;
  return {
    memory: inFileOnly === 'off' ? conf.client_body_buffer_size : 0,
    maxFileSize: Infinity,
    fileHoldsAll: true,
    writeAhead: BODY_WRITE_AHEAD,
    file: {
      path: new TemporaryPath(folder.path, levelsOf(folder)),
      name: BODY_FILE_NAMES[inFileOnly],
      writeSize: Infinity,
      level: inFileOnly === 'off' ? 'warn' : 'notice',
      what: 'a client request body is buffered to a temporary file',
      when: '',
    },
  };
}

function unlessZero(size: Template): Template | undefined {
  return size.constant !== undefined && sizeOf(size.constant) === 0 ? undefined : size;
}

function keepAliveFields(milliseconds: number | undefined): string {
  const timeout = Math.floor((milliseconds ?? 0) / 1000);
  return `Connection: keep-alive\r\n${timeout > 0 ? `Keep-Alive: timeout=${timeout}\r\n` : ''}`;
}

/** ignore_invalid_headers and underscores_in_headers: what names of request fields are made of. */
function fieldNames(conf: CoreConf): Uint8Array {
  if (!conf.ignore_invalid_headers) return TOKEN;
  return conf.underscores_in_headers ? NAME_WITH_UNDERSCORES : PLAIN_NAME;
}

export function serverSettings(conf: CoreConf): ServerSettings {
  const { count, size } = conf.large_client_header_buffers;
  const headLimits: HeadLimits = { line: size, field: size, total: count * size, fields: conf.max_headers, names: fieldNames(conf) };
  return {
    clientHeaderTimeout: conf.client_header_timeout,
    headLimits,
    mergeSlashes: conf.merge_slashes,
    http2: conf.http2,
    http2MaxStreams: conf.http2_max_concurrent_streams,
    http2BodyPreread: conf.http2_body_preread_size,
  };
}

/** `error_page code ... [=[status]] uri`. Codes are checked when the tree is, see {@link checkErrorPage}. */
function errorPage(words: readonly Template[]): ErrorPage {
  const target = words.at(-1) as Template;
  const codes = words.slice(0, -1).map((word) => word.constant ?? '');
  const overwrite = codes.at(-1)?.startsWith('=') === true ? codes.pop() : undefined;
  const status = overwrite === undefined ? undefined : Number(overwrite.slice(1));
  return { codes: codes.map(Number), status, target };
}

/** @throws ConfigError in nginx's wording for a code that cannot have a page. */
export function checkErrorPage(line: Directive): void {
  const codes = line.args.slice(0, -1);
  const overwrite = codes.length > 1 && codes.at(-1)?.text.startsWith('=') === true ? codes.pop() : undefined;
  if (overwrite !== undefined && !/^=\d{0,3}$/.test(overwrite.text)) throw errorAt(line, `invalid value "${overwrite.text}"`, overwrite);
  for (const word of codes) {
    const code = Number(word.text);
    if (!/^\d+$/.test(word.text)) throw errorAt(line, `invalid value "${word.text}"`, word);
    // nginx's own, which no response has.
    if (code === 499) throw errorAt(line, `invalid value "${word.text}"`, word);
    if (code < 300 || code > 599) throw errorAt(line, `value "${word.text}" must be between 300 and 599`, word);
  }
}

/** Where a server without a `listen` line listens: only root may open low ports. */
const defaultListen = (): string => (process.getuid?.() === 0 ? '80' : '8000');

/** Where a server listens, by its `listen` lines. @throws ConfigErrors as {@link listenOptions} */
export function httpListens(lines: readonly Directive[], path: (relative: string) => string): readonly ListenOptions[] {
  const listens = listenOptions(lines, (words) => parseListen(words, path));
  return listens.length > 0 ? listens : parseListen([defaultListen()], path);
}

/** How servers of HTTP say where they listen. */
export const HTTP_SERVERS: ServerDialect = {
  engine: 'http',
  address: (text, path) => parseListen([text], path)[0],
  listens: httpListens,
};

/** Parses a `location` line. @throws ConfigError */
export function locationMatch(directive: Directive): LocationMatch {
  const [first] = directive.args;
  if (first === undefined) throw errorAt(directive, 'invalid number of arguments in "location" directive');
  const { modifier, name } = locationName(directive);
  switch (modifier) {
    case '':
      return name.startsWith('@') ? { kind: 'named', name: bytes(name) } : { kind: 'prefix', name: bytes(name) };
    case '=':
      return { kind: 'exact', name: bytes(name) };
    case '^~':
      return { kind: 'prefix-only', name: bytes(name) };
    case '~':
    case '~*':
      return { kind: 'regex', name: bytes(name), pattern: locationPattern(directive, name, modifier === '~*') };
    default:
      throw errorAt(directive, `invalid location modifier "${modifier}"`, first, 'one of: =, ~, ~*, ^~');
  }
}

function locationPattern(directive: Directive, source: string, caseless: boolean): RegExp {
  try {
    return compilePattern(source, caseless);
  } catch (error) {
    if (!(error instanceof ArgError)) throw error;
    throw errorAt(directive, error.message, directive.args.at(-1), error.hint);
  }
}

/** Paths of requests are strings of bytes; so are the names they are compared with. */
function bytes(text: string): string {
  return Buffer.from(text).latin1Slice();
}
