import { fieldName, flag, size, template } from '../../core/contract/args.js';
import type { HttpRequest, LocationScope, Template } from '../../core/contract/http.js';
import { ArgError, directive, type ArgType } from '../../core/contract/spec.js';
import { exchangeDirectives } from '../../core/toolkit/exchange/directives.js';
import { upstreamTlsDirectives } from '../../core/toolkit/tls/upstream-directives.js';

const ANYWHERE = ['http', 'server', 'location'] as const;

/** An address with a port, or the name of an upstream, after `grpc://` or `grpcs://`. */
function address(): ArgType<Template> {
  const text = template('address');
  return {
    ...text,
    parse(value, context) {
      const parsed = text.parse(value, context);
      if (parsed.constant === undefined) return parsed;
      const host = value.replace(/^grpcs?:\/\//i, '');
      if (host === '') throw new ArgError(`no host in upstream "${host}"`);
      if (host.startsWith('unix:') ? host === 'unix:' : /[/?#]|:\/\//.test(host)) {
        throw new ArgError(
          `invalid host in upstream "${host}"`,
          'a name or an address with a port, without a path: methods are those of the client',
        );
      }
      return parsed;
    },
  };
}

const exchange = exchangeDirectives('grpc');

/** Directives of TLS with members by names of this module. */
type GrpcTls<D> = { readonly [K in keyof D as K extends `proxy_${infer Rest}` ? `grpc_${Rest}` : never]: D[K] };

function tlsDirectives(): GrpcTls<Omit<ReturnType<typeof upstreamTlsDirectives<HttpRequest>>, 'proxy_ssl_alpn'>> {
  const { proxy_ssl_alpn: _, ...own } = upstreamTlsDirectives<HttpRequest>(ANYWHERE);
  const renamed = Object.entries(own).map(([name, spec]) => [
    name.replace('proxy_', 'grpc_'),
    { ...spec, doc: spec.doc.replaceAll('proxy_ssl', 'grpc_ssl').replaceAll('$proxy_host', 'the host of grpc_pass') },
  ]);
  return Object.fromEntries(renamed) as ReturnType<typeof tlsDirectives>;
}

export const directives = {
  grpc_pass: directive({
    in: ['location', 'if in location'],
    args: address(),
    inherit: 'none',
    doc: 'Passes gRPC requests to this address or upstream, over HTTP/2: `grpcs://` with TLS, `grpc://` or no scheme without.',
  }),
  grpc_set_header: directive({
    in: ANYWHERE,
    args: { name: fieldName(), value: template('value') },
    many: true,
    doc: 'Sets a request field; an empty value removes it.',
  }),
  grpc_pass_trailers: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'on',
    doc: 'Passes trailers on: those of responses, in which the status of a call is, and those of requests.',
  }),
  grpc_buffer_size: directive({
    in: ANYWHERE,
    args: size(),
    default: '4k',
    doc: 'Maximum size of a response header, and of its trailers.',
  }),
  grpc_socket_keepalive: exchange.grpc_socket_keepalive,
  grpc_bind: exchange.grpc_bind,
  grpc_connect_timeout: exchange.grpc_connect_timeout,
  grpc_send_timeout: exchange.grpc_send_timeout,
  grpc_read_timeout: exchange.grpc_read_timeout,
  grpc_next_upstream: exchange.grpc_next_upstream,
  grpc_next_upstream_tries: exchange.grpc_next_upstream_tries,
  grpc_next_upstream_timeout: exchange.grpc_next_upstream_timeout,
  grpc_hide_header: exchange.grpc_hide_header,
  grpc_pass_header: exchange.grpc_pass_header,
  grpc_ignore_headers: exchange.grpc_ignore_headers,
  grpc_intercept_errors: exchange.grpc_intercept_errors,
  ...tlsDirectives(),
};

/** Values of these directives for one location. */
export type GrpcScope = LocationScope<typeof directives>;
