import type { ExchangePlan } from '../../contract/exchanges.js';
import type { MemberTunnelPlan } from '../../contract/tunnel.js';

const NO_NAMES: ReadonlySet<string> = new Set();

/** The exchange that a tunnel to a member begins as: nothing is sent, and no response is read. */
export function tunnelExchangePlan({ idleTimeout, ...plan }: MemberTunnelPlan): ExchangePlan {
  return {
    ...plan,
    readTimeout: idleTimeout,
    scheme: 'http',
    shownScheme: 'tcp',
    prefix: 'proxy_connect',
    tls: { context: {}, sendsName: false, verifies: false, verifyDepth: 0, reusesSessions: false },
    tlsName: plan.target,
    defaultPort: 0,
    method: undefined,
    uri: { kind: 'same' },
    replaced: NO_NAMES,
    passFields: false,
    fields: () => '',
    version: '1.1',
    hidden: NO_NAMES,
    ignored: NO_NAMES,
    rewriteLocation: undefined,
    forceRanges: false,
    interceptErrors: false,
    buffering: {
      enabled: false,
      headSize: 1024,
      memory: 0,
      readSize: 0,
      writeSize: 0,
      maxFileSize: 0,
      folder: '',
      levels: [],
      limitRate: undefined,
    },
    ignoreClientAbort: false,
    requestBuffering: false,
    passBody: false,
    body: undefined,
  };
}
