import { streamModule } from '../../core/contract/manifest.js';
import type { Clients } from '../../core/contract/network.js';
import { HostNames } from '../../core/contract/host-names.js';
import { Log } from '../../core/contract/log.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { directive } from '../../core/contract/spec.js';
import { DECLINED, type StreamHandlers, type StreamScope } from '../../core/contract/stream.js';
import { TrustedNames, trustedClients } from '../../core/toolkit/trusted-clients.js';
import { connectedVariables, fromProxyHeader, replaceAddress } from './connected-address.js';

const directives = {
  set_real_ip_from: directive({
    in: ['stream', 'stream server'],
    args: trustedClients('set_real_ip_from'),
    many: true,
    doc: 'Trusted addresses, or a host whose addresses are looked up when the configuration is applied, which send the real address of the client by the PROXY protocol.',
  }),
};

/** The address of the client that a proxy in front of srv sends (ngx_stream_realip_module). */
@streamModule({
  name: 'srv_stream_realip_module',
  api: 1,
  directives,
  variables: connectedVariables,
})
export class StreamRealIp {
  readonly #names: TrustedNames;

  constructor(hosts: HostNames, info: ServerInfo, log: Log) {
    this.#names = new TrustedNames('set_real_ip_from', hosts, info, log);
  }

  compile(scope: StreamScope<typeof directives>): StreamHandlers | undefined {
    const trusted = this.#names.compile(scope, scope.conf.set_real_ip_from);
    if (trusted.length === 0) return undefined;
    const isTrusted: Clients = (address) => trusted.some((fits) => fits(address));
    return {
      post_accept(session) {
        const found = fromProxyHeader(session, isTrusted);
        if (found !== undefined) replaceAddress(session, found);
        return DECLINED;
      },
    };
  }
}
