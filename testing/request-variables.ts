/** Variables of a server that follow from the request itself. */
import type { HttpRequest } from '../core/contract/http.js';

type Getter = (request: HttpRequest) => string | undefined;

const path: Getter = ({ uri }) => uri;
const query: Getter = ({ args }) => args;

const VARIABLES: Readonly<Record<string, Getter>> = {
  uri: path,
  document_uri: path,
  args: query,
  query_string: query,
  is_args: ({ args }) => (args === '' ? '' : '?'),
  request_uri: ({ requestUri }) => requestUri,
  request_method: ({ method }) => method,
  request: ({ method, requestUri, protocol }) => `${method} ${requestUri} ${protocol}`,
  request_id: ({ requestId }) => requestId,
  host: ({ host }) => host,
  server_protocol: ({ protocol }) => protocol,
  status: ({ status }) => String(status),
  content_type: (request) => request.header('content-type'),
  content_length: (request) => request.header('content-length'),
  scheme: ({ connection }) => (connection.secure ? 'https' : 'http'),
  https: ({ connection }) => (connection.secure ? 'on' : ''),
  remote_addr: ({ connection }) => connection.remoteAddress,
  remote_port: ({ connection }) => String(connection.remotePort),
  server_addr: ({ connection }) => connection.localAddress,
  server_port: ({ connection }) => String(connection.localPort),
};

/** Families of variables: the rest of the name decides. */
const FAMILIES: Readonly<Record<string, (request: HttpRequest, rest: string) => string | undefined>> = {
  arg_: ({ args }, name) => pairOf(args.split('&'), name),
  cookie_: (request, name) => pairOf((request.header('cookie') ?? '').split(/; */), name),
  http_: (request, name) => request.header(name.replaceAll('_', '-')),
  sent_http_: ({ response }, name) => response.get(name.replaceAll('_', '-')),
};

/** The value of a variable, as far as the request has it. @param name without the dollar */
export function requestVariable(request: HttpRequest, name: string): string | undefined {
  const getter = Object.hasOwn(VARIABLES, name) ? VARIABLES[name] : undefined;
  if (getter !== undefined) return getter(request);
  const prefix = Object.keys(FAMILIES).find((begin) => name.startsWith(begin));
  return prefix === undefined ? undefined : FAMILIES[prefix]?.(request, name.slice(prefix.length));
}

function pairOf(pairs: readonly string[], name: string): string | undefined {
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}
