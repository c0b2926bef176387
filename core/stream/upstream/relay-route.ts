import { isIP } from 'node:net';
import { DONE, STREAM_INTERNAL_ERROR, type StreamHandler } from '../../module/stream.js';
import { sizeOf } from '../../module/args.js';
import { SessionRelays, type RelayPlan } from '../../module/stream-relays.js';
import type { UpstreamTls } from '../../module/tls/upstream-tls.js';
import { SharedByContent } from '../../net/shared-by-content.js';
import { TlsClient, type ConnectTarget } from '../../net/tls-client.js';
import type { Peer } from '../../upstream/peer.js';
import { TargetLookups, type Target, type TargetSource } from '../../upstream/target-lookups.js';
import type { Upstream } from '../../upstream/upstream.js';
import { TcpClient } from '../client/tcp-client.js';
import { UdpClient } from '../client/udp-client.js';
import type { Session } from '../session/session.js';
import { TcpProxy } from './tcp-proxy.js';
import { UdpRelay } from './udp-relay.js';

/** What a relay needs to know, for one session. */
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
  readonly tls: TlsClient | undefined;
  /** Where no setting depends on the session. */
  readonly #settings: RelaySettings | undefined;

  constructor(
    readonly plan: RelayPlan,
    /** Undefined: it is known with the session only. */
    readonly target: Target | undefined,
    tlsClients: SharedByContent<UpstreamTls, TlsClient>,
  ) {
    this.tls = plan.tls && tlsClients.of(plan.tls);
    const { uploadRate, downloadRate } = plan;
    if (uploadRate.constant !== undefined && downloadRate.constant !== undefined)
      this.#settings = settingsOf(plan, uploadRate.constant, downloadRate.constant);
  }

  settingsFor(session: Session): RelaySettings {
    return this.#settings ?? settingsOf(this.plan, this.plan.uploadRate.of(session), this.plan.downloadRate.of(session));
  }

  /** The member with the address that the connection to it comes from (proxy_bind). */
  sourceOf(peer: Peer, session: Session): { readonly address: ConnectTarget } {
    const { bind } = this.plan;
    const { address } = peer;
    const local = bind?.of(session) ?? '';
    if (local === '' || 'path' in address) return peer;
    const [, host = '', port] = isIP(local) === 0 ? (/^\[?([^\]]+?)\]?:(\d{1,5})$/.exec(local) ?? []) : ['', local];
    if (isIP(host) === 0) {
      session.context.log.write('error', `invalid address "${local}" in "proxy_bind"`, session);
      return peer;
    }
    return { address: { ...address, localAddress: host, ...(port !== undefined && { localPort: Number(port) }) } };
  }
}

function settingsOf({ idleTimeout, halfClose }: RelayPlan, uploadRate: string, downloadRate: string): RelaySettings {
  return { idleTimeout, halfClose, uploadRate: sizeOf(uploadRate) ?? 0, downloadRate: sizeOf(downloadRate) ?? 0 };
}

/** The {@link SessionRelays} service. */
export class StreamRelays extends SessionRelays {
  readonly targets: TargetLookups;
  readonly #tlsClients = new SharedByContent<UpstreamTls, TlsClient>((settings) => new TlsClient(settings));

  constructor(source: TargetSource) {
    super();
    this.targets = new TargetLookups(source);
  }

  compile(plan: RelayPlan): StreamHandler {
    const { constant } = plan.target;
    const target = constant === undefined ? undefined : this.targets.find(constant, (message, hint) => plan.fail(message, hint));
    const route = new RelayRoute(plan, target, this.#tlsClients);
    if (plan.tls !== undefined) assertUsable(route);
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
  if (client instanceof TcpClient) new TcpProxy(session, client, route, upstream).start();
  else if (client instanceof UdpClient) new UdpRelay(session, client, route, upstream).start();
  else return STREAM_INTERNAL_ERROR;
  return DONE;
}

/** What OpenSSL says about files is to be known before traffic comes. */
function assertUsable({ tls, plan }: RelayRoute): void {
  try {
    void tls?.context;
  } catch (error) {
    plan.fail(`cannot use the certificates of "proxy_ssl_*": ${(error as Error).message}`);
  }
}
