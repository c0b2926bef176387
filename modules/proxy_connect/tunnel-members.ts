import type { NextUpstream } from '../../core/contract/exchanges.js';
import type { Scope, Template } from '../../core/contract/http.js';
import type { Conf } from '../../core/contract/spec.js';
import type { MemberTunnelPlan } from '../../core/contract/tunnel.js';
import type { tunnelDirectives } from './tunnel-directives.js';

type TunnelConf = Conf<typeof tunnelDirectives>;

interface TunnelScope extends Pick<Scope, 'directive' | 'fail'> {
  readonly conf: TunnelConf;
}

/** Of `tunnel_pass target`: to a member of an upstream. */
export function memberTunnelPlan(scope: TunnelScope, target: Template): MemberTunnelPlan {
  const { conf } = scope;
  return {
    target,
    bind: conf.tunnel_bind?.constant === 'off' ? undefined : conf.tunnel_bind,
    connectTimeout: conf.tunnel_connect_timeout,
    sendTimeout: conf.tunnel_send_timeout,
    socketKeepalive: conf.tunnel_socket_keepalive === true,
    idleTimeout: conf.tunnel_read_timeout,
    next: nextUpstream(conf),
    scope: scope.directive ?? scope,
    fail: (message, hint) => scope.fail(message, 'tunnel_pass', hint ?? 'the name of an upstream, host:port, or unix:/path'),
  };
}

function nextUpstream(conf: TunnelConf): NextUpstream {
  const { cases } = conf.tunnel_next_upstream;
  const isOff = cases.includes('off');
  return {
    error: !isOff && cases.includes('error'),
    timeout: !isOff && cases.includes('timeout'),
    invalidHeader: false,
    nonIdempotent: false,
    statuses: new Set(),
    tries: conf.tunnel_next_upstream_tries,
    timeoutMs: conf.tunnel_next_upstream_timeout,
  };
}
