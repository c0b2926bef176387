import { flag, text } from '../../core/contract/args.js';
import { DECLINED, type Handler, type HttpHandlers, type HttpRequest, type LocationScope } from '../../core/contract/http.js';
import { httpModule } from '../../core/contract/manifest.js';
import { forwardedClient, type Clients } from '../../core/contract/network.js';
import { HostNames } from '../../core/contract/host-names.js';
import { Log } from '../../core/contract/log.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { directive } from '../../core/contract/spec.js';
import { TrustedNames, trustedClients } from '../../core/toolkit/trusted-clients.js';
import { connectedVariables, fromProxyHeader, isReplaced, replaceAddress } from './connected-address.js';

const IN = ['http', 'server', 'location'] as const;

const directives = {
  set_real_ip_from: directive({
    in: IN,
    args: trustedClients('set_real_ip_from'),
    many: true,
    doc: 'Trusted addresses, or a host whose addresses are looked up when the configuration is applied, which send the real address of the client.',
  }),
  real_ip_header: directive({
    in: IN,
    args: text('field | X-Real-IP | X-Forwarded-For | proxy_protocol'),
    default: 'X-Real-IP',
    doc: 'Request field, or PROXY protocol header, with the address of the client.',
  }),
  real_ip_recursive: directive({
    in: IN,
    args: flag(),
    default: 'off',
    doc: 'Uses the last address that is not trusted, instead of the last one.',
  }),
};

type Conf = LocationScope<typeof directives>;

/** The address of the client that a proxy in front of srv sends (ngx_http_realip_module). */
@httpModule({
  name: 'srv_http_realip_module',
  api: 1,
  directives,
  // Before limits, which look at the address.
  phases: { post_read: 10, preaccess: 10 },
  variables: connectedVariables,
})
export class RealIp {
  readonly #names: TrustedNames;

  constructor(hosts: HostNames, info: ServerInfo, log: Log) {
    this.#names = new TrustedNames('set_real_ip_from', hosts, info, log);
  }

  compileServer(scope: Conf): HttpHandlers | undefined {
    const replace = this.#replacement(scope);
    return replace && { post_read: replace, explain: { post_read: 'run' } };
  }

  /** Settings of a location come too late for the server's phases, and have no effect if these have acted. */
  compile(scope: Conf): HttpHandlers | undefined {
    if (!saysMore(scope)) return undefined;
    const replace = this.#replacement(scope);
    return replace && { preaccess: replace, explain: { preaccess: 'run' } };
  }

  #replacement(scope: Conf): Handler | undefined {
    const { conf } = scope;
    const trusted = this.#names.compile(scope, conf.set_real_ip_from);
    if (trusted.length === 0) return undefined;
    const isTrusted: Clients = (address) => trusted.some((network) => network(address));
    const field = conf.real_ip_header.toLowerCase();
    const isRecursive = conf.real_ip_recursive;
    const find =
      field === 'proxy_protocol'
        ? (request: HttpRequest) => fromProxyHeader(request, isTrusted)
        : (request: HttpRequest) => forwardedClient(request.header(field), request.connection.remoteAddress, isTrusted, isRecursive);
    return (request) => {
      if (isReplaced(request)) return DECLINED;
      const found = find(request);
      if (found !== undefined) replaceAddress(request, found);
      return DECLINED;
    };
  }
}

/** True if a location, or one around it, has directives that its server does not have. */
function saysMore(scope: Conf): boolean {
  for (let level: Conf | undefined = scope; level !== undefined && level.kind !== 'server'; level = level.parent as Conf | undefined) {
    if (Object.keys(directives).some((name) => level?.own(name))) return true;
  }
  return false;
}
