import type { ExchangePlan } from '../../contract/exchanges.js';
import type { UpstreamTls } from '../../contract/upstream-tls.js';
import type { CommonPlan } from './exchange-settings.js';

type Needed = 'protocol' | 'target' | 'defaultPort' | 'shownScheme';

/** Parts of a plan for another protocol that the module gives itself. */
export type ProtocolParts = Required<Pick<ExchangePlan, Needed>> & Partial<Omit<ExchangePlan, Needed>>;

const NO_TLS: UpstreamTls = { context: {}, sendsName: false, verifies: false, verifyDepth: 1, reusesSessions: false };
const NO_NAMES: ReadonlySet<string> = new Set();

/**
 * The plan of a location whose members are spoken to in another protocol than HTTP.
 * @param common from `ExchangeSettings.plan`
 * @param parts of the module, which take precedence. Without them: no TLS, the client's method, URI, fields and body, no rewriting
 */
export function protocolPlan(common: CommonPlan, parts: ProtocolParts): ExchangePlan {
  return {
    scheme: 'http',
    version: '1.1',
    tls: NO_TLS,
    tlsName: parts.target,
    method: undefined,
    uri: { kind: 'same' },
    replaced: NO_NAMES,
    fields: () => '',
    body: undefined,
    rewriteLocation: undefined,
    ...common,
    ...parts,
  };
}
