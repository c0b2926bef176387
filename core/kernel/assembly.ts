import { DiscoveryReplica } from '../control/discovery-replica.js';
import { KeyValueCopy } from '../control/key-value-copy.js';
import type { Replica } from '../control/participant.js';
import { HttpContext } from '../http/request/context.js';
import { RequestHostNames } from '../http/request/request-host-names.js';
import { requestFlow } from '../http/phases/request-flow.js';
import { HttpEngine } from '../http/engine.js';
import { HTTP_SERVERS } from '../http/site/settings.js';
import { HttpTunnels } from '../http/upstream/connect-tunnel.js';
import { HttpExchanges } from '../http/upstream/exchange-route.js';
import { Figures } from '../http/request/figures.js';
import type { Peer } from '../upstream/peer.js';
import type { AppendedLogFiles } from '../log/log-files.js';
import { Exchanges, HostNames, KeyValue, LogFiles, Statistics, Tunnels, Upstreams } from '../module/services.js';
import { Events } from '../module/events.js';
import { Explainer } from '../module/explain.js';
import { Metrics } from '../module/metrics.js';
import { HttpExplainer } from '../http/explain/explainer.js';
import { VirtualServers } from '../module/virtual-servers.js';
import { Zones } from '../module/zones.js';
import { ZoneMetrics } from '../zone/metrics.js';
import { StreamServers, StreamUpstreams } from '../module/stream-servers.js';
import { SessionRelays } from '../module/stream-relays.js';
import type { EngineRole } from '../net/listener-set.js';
import { ServersInForce } from '../net/servers-in-force.js';
import { StreamEngine } from '../stream/engine.js';
import { STREAM_SERVERS } from '../stream/site/stream-listens.js';
import { StreamRelays } from '../stream/upstream/relay-route.js';
import { STREAM_UPSTREAMS } from '../upstream/upstream-engine.js';
import { Admission } from '../net/admission.js';
import { Clock } from '../net/clock.js';
import { SystemHostNames } from '../net/host-names.js';
import { TimerWheel } from '../net/timers.js';
import type { Crew } from '../upstream/discovery/discovered-members.js';
import type { AddressStore } from '../upstream/discovery/kept-addresses.js';
import type { Discovery } from '../upstream/discovery/discovery.js';
import { UpstreamSet, type UpstreamSetOptions } from '../upstream/upstreams.js';
import type { HostLookup } from '../upstream/host-lookup.js';
import type { ZoneSet } from '../zone/zone-set.js';
import { eventsDirectives } from './core-directives.js';
import type { Instance } from './instance.js';
import { LogSettings } from './log-settings.js';
import { MemberEvents } from './member-events.js';
import { ModuleZones } from './module-zones.js';

/** What an instance needs of the thread or process it lives in. */
export interface Surroundings {
  /** What it does with listeners. */
  readonly role: EngineRole;
  readonly files: AppendedLogFiles;
  /** Where messages go without an `error_log` line. */
  readonly errorLog: string;
  readonly zones: ZoneSet;
  /** Memory of the connection figures of all workers. */
  readonly figures: SharedArrayBuffer;
  /** Workers that shared state has places for. */
  readonly workers: number;
  /** That of this worker. */
  readonly place?: number;
  /** Absent: nothing is told of what happens. */
  readonly events?: Events;
  /** How the names of members are looked up. Default: as the system does. */
  readonly lookup?: HostLookup;
  /** Looks up the names of servers with `resolve`. Master only. */
  readonly discovery?: Discovery;
}

/** What the thread around an instance has to do with. */
export interface Assembly {
  readonly replicas: readonly Replica[];
  /** Where the server listens. */
  readonly addresses: () => readonly string[];
  /** Folders it writes temporary files into. */
  readonly temporaryFolders: () => Iterable<string>;
  /** Begins to serve. Workers only: the others have their sockets with the configuration. @throws ConfigErrors */
  readonly open: () => Promise<void>;
  /** Gives up what the worker at that place had under way when it died. Master only. */
  readonly dropWorker: (place: number) => void;
  /** What requests are served by. */
  readonly engine: Pick<HttpEngine, 'configuration' | 'groups'>;
  /** What sessions are served by. */
  readonly stream: Pick<StreamEngine, 'configuration' | 'groups'>;
  /** Gives members the addresses that their names had last. To be called before a configuration is prepared. Master only. */
  readonly remember: (store: AddressStore) => void;
  /** Brings the addresses of names into force from now on. Master only. */
  readonly discover: (crew: Crew) => void;
  /** Requests that the workers at that place have been sent so far. Master only. */
  readonly requestsOf: (place: number) => number;
}

const UPSTREAM_ROLES = { master: 'master', worker: 'worker', control: 'alone', check: 'alone', explain: 'alone' } as const satisfies Record<
  EngineRole,
  UpstreamSetOptions['role']
>;

const NOTHING_TO_DO = { commit: () => undefined, abort: () => undefined };

/** Gives an instance its services and its followers, in the order in which they build on each other. */
export function assemble(instance: Instance, surroundings: Surroundings): Assembly {
  const { services, options } = instance;
  const { role, files, errorLog, zones, workers, place = options.worker, events, lookup, discovery } = surroundings;
  const { log, worker, installation } = options;
  const clock = new Clock();
  const timers = new TimerWheel(clock);
  const figures = new Figures(surroundings.figures, place);
  const admission = new Admission(clock, log, figures, Number(eventsDirectives.worker_connections.default));
  const context = new HttpContext(clock, timers, log, figures, admission, requestFlow);
  const upstreamOptions: UpstreamSetOptions = {
    role: UPSTREAM_ROLES[role],
    worker: place,
    workers,
    zones,
    clock,
    timers,
    watch: events && new MemberEvents(events, worker, 'http'),
    ...(lookup && { lookup }),
    discovery,
    log,
    onUnavailable: (peer, upstream) =>
      log.write('warn', `upstream server temporarily disabled: ${memberText(peer)} in upstream "${upstream.name}"`),
    onBalancerError: (module, error, upstream) =>
      log.write('error', `${module}: balancer of upstream "${upstream.name}" failed: ${causeOf(error)}`),
    onCheckerError: (module, error, upstream) =>
      log.write('error', `${module}: health checker of upstream "${upstream.name}" failed: ${causeOf(error)}`),
  };
  const upstreams = new UpstreamSet(upstreamOptions);
  const streamUpstreams = new UpstreamSet({
    ...upstreamOptions,
    engine: STREAM_UPSTREAMS,
    watch: events && new MemberEvents(events, worker, 'stream'),
  });
  const moduleZones = new ModuleZones({ zones, clock, worker: place, workers });
  const onFull = (name: string): void => log.write('error', `no memory for metric "${name}": it counts in this worker only`);
  const metrics = new ZoneMetrics({ zones, worker: place, workers, onFull });
  if (role !== 'worker') metrics.open();
  const exchanges = new HttpExchanges(upstreams, role !== 'worker');
  const product = { name: 'srv', version: installation.version };
  const servesUnixSockets = worker <= 0;
  const http = new HttpEngine(exchanges, context, instance.files, { role, servesUnixSockets, product });
  const relays = new StreamRelays(streamUpstreams);
  const stream = new StreamEngine(relays, context, instance.files, { role, servesUnixSockets });
  const keyValue = new KeyValueCopy();
  // The master has the pairs themselves, and a control process none.
  if (role === 'worker' || role === 'check' || role === 'explain') services.provide(KeyValue, keyValue);
  if (events !== undefined) services.provide(Events, events);
  services.provide(LogFiles, files);
  services.provide(Statistics, figures);
  services.provide(Upstreams, upstreams);
  services.provide(Exchanges, exchanges);
  services.provide(SessionRelays, relays);
  services.provide(Tunnels, new HttpTunnels());
  services.provide(HostNames, new RequestHostNames(new SystemHostNames(clock)));
  services.provide(StreamUpstreams, streamUpstreams);
  const inForce = () => ({ tree: instance.tree, path: (text: string) => instance.modules.args.path(text) });
  services.provide(VirtualServers, new ServersInForce(http, HTTP_SERVERS, inForce));
  services.provide(StreamServers, new ServersInForce(stream, STREAM_SERVERS, inForce));
  if (role !== 'worker') services.provide(Explainer, explainerOf(instance, http, context));
  services.provide(Zones, moduleZones);
  services.provide(Metrics, metrics);
  // Ends last: all others have timers.
  instance.follow({ prepare: () => NOTHING_TO_DO, stop: () => timers.stop() });
  instance.follow(new LogSettings(log, { path: errorLog, level: 'error' }));
  instance.follow(moduleZones);
  instance.follow(upstreams);
  instance.follow(streamUpstreams);
  instance.follow(http);
  instance.follow(stream);
  return {
    replicas: [keyValue, new DiscoveryReplica([upstreams.replica, streamUpstreams.replica])],
    addresses: () => [...http.addresses, ...stream.addresses],
    temporaryFolders: () => http.temporaryFolders,
    open: async () => {
      await http.open();
      await stream.open();
    },
    dropWorker: (dead) => {
      figures.drop(dead);
      upstreams.dropWorker(dead);
      streamUpstreams.dropWorker(dead);
      moduleZones.dropWorker(dead);
      metrics.dropWorker(dead);
    },
    engine: http,
    stream,
    remember: (store) => {
      for (const set of [upstreams, streamUpstreams]) set.discovered?.remember(store);
    },
    discover: (crew) => {
      for (const set of [upstreams, streamUpstreams]) set.discovered?.start(crew);
    },
    requestsOf: (number) => figures.requestsOf(number),
  };
}

const causeOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));

function explainerOf(instance: Instance, http: HttpEngine, context: HttpContext): Explainer {
  return new HttpExplainer(context, {
    groups: () => http.groups,
    variables: () => instance.modules.variables.http,
    path: (text) => instance.modules.args.path(text),
  });
}

/** A member in the log: its address, and the name that was resolved to it. */
function memberText({ server, name }: Peer): string {
  return server === name ? `"${server}"` : `"${server}" of "${name}"`;
}
