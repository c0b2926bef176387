import type { RelayPlan } from '../contract/stream-relays.js';
import type { StreamTemplate } from '../contract/stream.js';

/** The parts of a plan that have no default. */
export type RelayParts = Pick<RelayPlan, 'target' | 'fail'> & Partial<RelayPlan>;

const NO_LIMIT: StreamTemplate = { constant: '', of: () => '' };

/** A plan for SessionRelays, in which absent parts are as `proxy_pass` of `stream` has them by default. */
export function relayPlan(parts: RelayParts): RelayPlan {
  return {
    connectTimeout: 60_000,
    idleTimeout: 600_000,
    next: { enabled: true, tries: 0, timeoutMs: 0 },
    halfClose: false,
    uploadRate: NO_LIMIT,
    downloadRate: NO_LIMIT,
    proxyProtocol: false,
    keepAlive: false,
    bind: undefined,
    tls: undefined,
    tlsName: parts.target,
    requests: 0,
    responses: undefined,
    ...parts,
  };
}
