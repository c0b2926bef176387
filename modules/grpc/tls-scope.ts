import type { HttpRequest } from '../../core/contract/http.js';
import type { Directive } from '../../core/contract/tree.js';
import type { UpstreamTlsSettings } from '../../core/toolkit/tls/upstream-directives.js';
import { directives, type GrpcScope } from './directives.js';

type TlsScope = Parameters<UpstreamTlsSettings<HttpRequest>['of']>[0];

const TLS_NAMES = Object.keys(directives).filter((name) => name.startsWith('grpc_ssl_'));

/** The scope as settings of TLS see it: their directives are those of `proxy`, in errors those of `grpc`. */
export function tlsScope(scope: GrpcScope): TlsScope {
  const values = scope.conf as Readonly<Record<string, unknown>>;
  const conf = Object.fromEntries(TLS_NAMES.map((name) => [name.replace('grpc_', 'proxy_'), values[name]])) as TlsScope['conf'];
  return {
    conf,
    args: scope.args,
    register: (resource) => scope.register(resource),
    file: (path, parse, place, error) =>
      scope.file(path, parse, ownPlace(place), error === undefined ? undefined : (reason) => ownText(error(reason))),
    fail: (message, place, hint) => scope.fail(ownText(message), ownPlace(place), hint),
  };
}

const ownText = (text: string): string => text.replaceAll('proxy_ssl_', 'grpc_ssl_');

function ownPlace(place: string | Directive | undefined): string | Directive | undefined {
  return typeof place === 'string' ? ownText(place) : place;
}
