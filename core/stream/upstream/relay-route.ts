import { DONE, STREAM_INTERNAL_ERROR, type StreamHandler } from '../../contract/stream.js';
import { parseSource } from '../../contract/address.js';
import { sizeOf } from '../../contract/args.js';
import { SessionRelays, type RelayPlan } from '../../contract/stream-relays.js';
import { fromSource } from '../../net/source-address.js';
import type { TlsClient } from '../../net/tls-client.js';
import type { Target } from '../../net/transport/transport.js';
import { TlsClients, type TlsClientChoice } from '../../net/tls-clients.js';
import type { Peer } from '../../upstream/peer.js';
import { TargetLookups, type LookupTarget, type TargetSource } from '../../upstream/target-lookups.js';
import type { Upstream } from '../../upstream/upstream.js';
import { TcpClient } from '../client/tcp-client.js';
import { UdpClient } from '../client/udp-client.js';
import type { Session } from '../session/session.js';
import { TcpProxy } from './tcp-proxy.js';
import { UdpRelay } from './udp-relay.js';

/** Settings of a relay, for one session. */
export interface RelaySettings {
  /** Milliseconds. */
  readonly idleTimeout: number;
  readonly halfClose: boolean;
  /** Bytes a second; 0: no limit. */
  readonly uploadRate: number;
  readonly downloadRate: number;
}

/** A plan with everything that can be known before a session comes. */
export class RelayRoute {
  readonly #tls: TlsClientChoice | undefined;
  /** Where no setting depends on the session. */
  readonly #settings: RelaySettings | undefined;

  constructor(
    readonly plan: RelayPlan,
    /** Undefined: it is known with the session only. */
    readonly target: LookupTarget | undefined,
    tlsClients: TlsClients,
  ) {
    this.#tls = plan.tls && tlsClients.choice(plan.tls);
    const { uploadRate, downloadRate } = plan;
    if (uploadRate.constant !== undefined && downloadRate.constant !== undefined)
      this.#settings = settingsOf(plan, uploadRate.constant, downloadRate.constant);
  }

  /** The client that needs no session. Undefined: TLS is not spoken. */
  get tls(): TlsClient | undefined {
    return this.#tls?.common;
  }

  /** Undefined: TLS is not spoken. @throws Error for the error log: the certificate that variables name cannot be used */
  tlsFor(session: Session): TlsClient | undefined {
    return this.#tls?.of(session, session.context.transport);
  }

  settingsFor(session: Session): RelaySettings {
    return this.#settings ?? settingsOf(this.plan, this.plan.uploadRate.of(session), this.plan.downloadRate.of(session));
  }

  /** The member with the address that the connection to it comes from (proxy_bind). */
  sourceOf(peer: Peer, session: Session): { readonly address: Target } {
    const { bind } = this.plan;
    const { address } = peer;
    const local = bind?.of(session) ?? '';
    if (local === '' || 'path' in address) return peer;
    const source = parseSource(local);
    if (source === undefined) session.context.log.write('error', `invalid address "${local}" in "proxy_bind"`, session);
    return { address: fromSource(address, source) };
  }
}

function settingsOf({ idleTimeout, halfClose }: RelayPlan, uploadRate: string, downloadRate: string): RelaySettings {
  return { idleTimeout, halfClose, uploadRate: sizeOf(uploadRate) ?? 0, downloadRate: sizeOf(downloadRate) ?? 0 };
}

/** The {@link SessionRelays} service. */
export class StreamRelays extends SessionRelays {
  readonly targets: TargetLookups;
  readonly #tlsClients = new TlsClients();

  /** @param checks false: another thread has checked certificates */
  constructor(
    source: TargetSource,
    private readonly checks: boolean,
  ) {
    super();
    this.targets = new TargetLookups(source);
  }

  compile(plan: RelayPlan): StreamHandler {
    const { constant } = plan.target;
    const target = constant === undefined ? undefined : this.targets.find(constant, (message, hint) => plan.fail(message, hint));
    const route = new RelayRoute(plan, target, this.#tlsClients);
    if (this.checks) assertUsable(route);
    return (session) => this.#start(session as Session, route);
  }

  #start(session: Session, route: RelayRoute): number | Promise<number> {
    const upstream = route.target?.upstream;
    if (upstream !== undefined) return begin(session, route, upstream);
    let found: Upstream | Promise<Upstream>;
    try {
      found = this.targets.findNow(route.plan.target.of(session), session.server.settings.resolver);
    } catch (error) {
      return rejectUnresolved(session, error);
    }
    if (!(found instanceof Promise)) return begin(session, route, found);
    return found.then(
      (upstream) => (session.status === 0 ? begin(session, route, upstream) : DONE),
      (error: unknown) => rejectUnresolved(session, error),
    );
  }
}

function rejectUnresolved(session: Session, error: unknown): number {
  session.context.log.write('error', error instanceof Error ? error.message : String(error), session);
  return STREAM_INTERNAL_ERROR;
}

function begin(session: Session, route: RelayRoute, upstream: Upstream): number {
  const { client } = session;
  session.leaveHandlers();
  if (client instanceof TcpClient) new TcpProxy(session, client, route, upstream).start();
  else if (client instanceof UdpClient) new UdpRelay(session, client, route, upstream).start();
  else return STREAM_INTERNAL_ERROR;
  return DONE;
}

/** Errors of OpenSSL about files must be known before traffic comes. */
function assertUsable({ tls, plan }: RelayRoute): void {
  try {
    tls?.context.assertUsable();
  } catch (error) {
    plan.fail(`cannot use the certificates of "proxy_ssl_*": ${(error as Error).message}`);
  }
}
