import { DiscoveryReplica } from '../changes/discovery-replica.js';
import { KeyValueCopy } from '../changes/key-value-copy.js';
import type { Replica } from '../changes/participant.js';
import { HttpContext } from '../http/request/context.js';
import { RequestHostNames } from '../http/request/request-host-names.js';
import { requestFlow } from '../http/phases/request-flow.js';
import { HttpEngine } from '../http/engine.js';
import { HTTP_SERVERS } from '../http/site/settings.js';
import { HttpTunnels } from '../http/member/connect-tunnel.js';
import { HttpExchanges } from '../http/member/http-exchanges.js';
import { TrafficFigures } from '../http/request/figures.js';
import type { Peer } from '../upstream/peer.js';
import type { AppendedLogFiles } from '../log/log-files.js';
import { ControlPlaneGuard } from '../contract/control-plane-guard.js';
import { Exchanges, Requests } from '../contract/exchanges.js';
import { HostNames } from '../contract/host-names.js';
import { KeyValue } from '../contract/key-value.js';
import { LogFiles } from '../contract/log-files.js';
import { Statistics } from '../contract/statistics.js';
import { Sockets } from '../contract/sockets.js';
import { SystemFiles } from '../contract/system-files.js';
import { TlsLibrary } from '../contract/tls-library.js';
import { Tunnels } from '../contract/tunnel.js';
import { Upstreams } from '../contract/upstreams.js';
import { EventMethod } from '../contract/event-method.js';
import { Events } from '../contract/events.js';
import { Explainer } from '../contract/explain.js';
import { HttpExplainer } from '../http/explain/explainer.js';
import { OwnRequests } from '../http/explain/own-requests.js';
import { VirtualServers } from '../contract/virtual-servers.js';
import { ZoneMetrics } from '../zone/metrics.js';
import { StreamServers, StreamUpstreams } from '../contract/stream-servers.js';
import { SessionRelays } from '../contract/stream-relays.js';
import type { ControlListeners } from '../net/control-listeners.js';
import type { ListenOptions } from '../net/listen-options.js';
import type { EngineRole, ListenerRole } from '../net/listener-set.js';
import { ServersInForce } from '../net/servers-in-force.js';
import { StreamEngine } from '../stream/engine.js';
import { STREAM_SERVERS } from '../stream/site/stream-listens.js';
import { StreamRelays } from '../stream/upstream/relay-route.js';
import { STREAM_UPSTREAMS } from '../upstream/upstream-engine.js';
import { Admission } from '../net/admission.js';
import { ConnectionWatch } from '../net/connection-watch.js';
import { CoarseClock, ExactClock } from '../net/clock.js';
import { Dialer } from '../net/dialer.js';
import { DialedSockets } from '../net/module-sockets.js';
import { SystemHostNames } from '../net/host-names.js';
import { SystemTlsLibrary } from '../net/transport/transports.js';
import type { OpenDescriptors } from '../net/transport/open-descriptors.js';
import { TimerWheel } from '../net/timers.js';
import type { Crew } from '../upstream/discovery/discovered-members.js';
import type { AddressStore } from '../upstream/discovery/kept-addresses.js';
import type { Discovery } from '../upstream/discovery/discovery.js';
import { UpstreamSet, type UpstreamSetOptions } from '../upstream/upstreams.js';
import type { HostLookup } from '../upstream/host-lookup.js';
import type { CarriedState } from '../zone/carried-state.js';
import type { ZoneSet } from '../zone/zone-set.js';
import { ChannelHub, MasterChannels, WorkerChannels } from './channel-hub.js';
import { eventsDirectives } from './core-directives.js';
import type { Instance } from './instance.js';
import { LogSettings } from './log-settings.js';
import { MainScopes } from './main-scopes.js';
import { MemberEvents } from './member-events.js';
import { FamilySources } from './module-families.js';
import { ModuleZones } from './module-zones.js';
import { stackOf } from '../contract/thrown.js';

/** Surroundings of an instance in its thread or process. */
export interface Surroundings extends Pick<ListenerRole, 'sockets' | 'reservations'> {
  /** Its role for listeners. */
  readonly role: EngineRole;
  readonly files: AppendedLogFiles;
  /** Where messages go without an `error_log` line. */
  readonly errorLog: string;
  readonly zones: ZoneSet;
  /** Memory of the connection figures of all workers. */
  readonly figures: SharedArrayBuffer;
  /** Sockets that are closed when the thread dies; absent: it is alone. */
  readonly descriptors?: OpenDescriptors;
  /** Addresses that members must not have; absent: none. */
  readonly controlListeners?: ControlListeners;
  /** See {@link ListenerRole.announce}. */
  readonly announce?: ListenerRole['announce'];
  /** Workers that shared state has places for. The last one is that of the program that this one replaces: no worker has it. */
  readonly workers: number;
  /** That of this worker. */
  readonly place?: number;
  /** Absent: no events are published. */
  readonly events?: Events;
  /** How the names of members are looked up. Default: as the system does. */
  readonly lookup?: HostLookup;
  /** Looks up the names of servers with `resolve`. Master only. */
  readonly discovery?: Discovery;
  /** Between the halves of modules. Absent: this thread is alone. */
  readonly channels?: MasterChannels | WorkerChannels;
}

/** Parts of an instance that its thread uses. */
export interface Assembly {
  readonly replicas: readonly Replica[];
  /** Where the server listens. */
  readonly listens: () => readonly ListenOptions[];
  /** Sockets that are open, by {@link SocketRequest.key}. Workers only. */
  readonly descriptors: () => readonly (readonly [key: string, descriptor: number])[];
  /** As {@link descriptors}, for a process that gets them sent. Helpers only. */
  readonly handles: () => readonly { readonly key: string; readonly handle: unknown }[];
  /** Another program is about to listen on the same sockets: sessions over UDP get sockets of their own. Workers only. */
  readonly moveFlows: () => void;
  /** Another program listens on the same sockets: files of unix sockets stay. Workers and helpers only. */
  readonly leaveFiles: () => void;
  /** Folders it writes temporary files into. */
  readonly temporaryFolders: () => Iterable<string>;
  /** Begins to serve. Workers only: the others have their sockets with the configuration. @throws ConfigErrors */
  readonly open: () => Promise<void>;
  /** State for the program that replaces this one, in the order of its takeover. Master only. */
  readonly carried: readonly CarriedState[];
  /** Another program has taken over: this one looks up no names and checks no members any more. Master only. */
  readonly retire: () => void;
  /** Gives up what the worker at that place had under way when it died. Master only. */
  readonly dropWorker: (place: number) => void;
  /** The engine of requests. */
  readonly engine: Pick<HttpEngine, 'configuration' | 'groups'>;
  /** The engine of sessions. */
  readonly stream: Pick<StreamEngine, 'configuration' | 'groups'>;
  /** Gives members the addresses that their names had last. To be called before a configuration is prepared. Master only. */
  readonly remember: (store: AddressStore) => void;
  /** Applies the addresses of names from now on. Master only. */
  readonly discover: (crew: Crew) => void;
  /** Zones that modules declare. */
  readonly moduleZones: ModuleZones;
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
  const {
    role,
    files,
    errorLog,
    zones,
    workers,
    place = options.worker,
    events,
    lookup,
    discovery,
    controlListeners,
    announce,
    channels = new MasterChannels(async () => undefined),
  } = surroundings;
  const { log, worker, installation } = options;
  const clock = role === 'worker' || role === 'control' ? new CoarseClock() : new ExactClock();
  const timers = new TimerWheel(clock);
  const figures = new TrafficFigures(surroundings.figures, place);
  const admission = new Admission(clock, log, figures, Number(eventsDirectives.worker_connections.default));
  const context = new HttpContext(clock, timers, log, figures, admission, requestFlow, controlListeners, surroundings.descriptors);
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
      log.write('error', `${module}: balancer of upstream "${upstream.name}" failed: ${stackOf(error)}`),
    onAdded: ({ member: { address }, server }, upstream) => {
      if (context.controlListeners.isReachedBy(address)) log.write('warn', memberOfControlPlane(server, upstream.name));
    },
    onCheckerError: (module, error, upstream) =>
      log.write('error', `${module}: health checker of upstream "${upstream.name}" failed: ${stackOf(error)}`),
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
  const { sockets, reservations } = surroundings;
  const isRootsMatter = options.granted !== undefined;
  const listening: ListenerRole = {
    role,
    servesUnixSockets: worker <= 0,
    isRootsMatter,
    sockets,
    reservations,
    ...(announce && { announce }),
  };
  const http = new HttpEngine(exchanges, context, instance.files, { ...listening, product, metrics });
  const relays = new StreamRelays(streamUpstreams, role !== 'worker');
  const stream = new StreamEngine(relays, context, instance.files, { ...listening, metrics });
  const keyValue = new KeyValueCopy();
  // The master has the pairs themselves, and a control process none.
  if (role === 'worker' || role === 'check' || role === 'explain') services.provide(KeyValue, keyValue);
  if (events !== undefined) services.provide(Events, events);
  files.useDialer(context.dialer);
  services.provide(LogFiles, files);
  services.provide(Statistics, figures);
  services.provide(Upstreams, upstreams);
  services.provide(Exchanges, exchanges);
  services.provide(SessionRelays, relays);
  services.provide(EventMethod, context.transports);
  services.provide(SystemFiles, context.transports.files);
  services.provide(TlsLibrary, new SystemTlsLibrary());
  services.provide(ControlPlaneGuard, context.controlListeners);
  services.provide(Dialer, context.dialer);
  services.provide(Sockets, new DialedSockets(context.dialer, context.controlListeners));
  services.provide(Tunnels, new HttpTunnels(exchanges));
  services.provide(HostNames, new RequestHostNames(new SystemHostNames(clock, context.dialer)));
  services.provide(StreamUpstreams, streamUpstreams);
  const inForce = () => ({ tree: instance.tree, path: (text: string) => instance.modules.args.path(text) });
  services.provide(VirtualServers, new ServersInForce(http, HTTP_SERVERS, inForce));
  services.provide(StreamServers, new ServersInForce(stream, STREAM_SERVERS, inForce));
  const httpInForce = {
    groups: () => http.groups,
    variables: () => instance.modules.variables.http,
    path: (text: string) => instance.modules.args.path(text),
  };
  services.provide(Requests, new OwnRequests(context, httpInForce, role === 'worker'));
  if (role !== 'worker') services.provide(Explainer, new HttpExplainer(context, httpInForce));
  services.provide(ModuleZones, moduleZones);
  services.provide(ZoneMetrics, metrics);
  services.provide(FamilySources, new FamilySources());
  services.provide(ConnectionWatch, admission.watch);
  if (role !== 'control') services.provide(ChannelHub, channels);
  // Ends last: all others have timers.
  instance.follow({ prepare: () => NOTHING_TO_DO, stop: () => timers.stop() });
  instance.follow(new LogSettings(log, { path: errorLog, level: 'error' }));
  instance.follow(moduleZones);
  instance.follow(new MainScopes(instance.files));
  instance.follow(upstreams);
  instance.follow(streamUpstreams);
  instance.follow(http);
  instance.follow(stream);
  return {
    replicas: [
      keyValue,
      new DiscoveryReplica([upstreams.replica, streamUpstreams.replica]),
      ...(channels instanceof WorkerChannels ? [channels] : []),
    ],
    listens: () => [...http.listens, ...stream.listens],
    descriptors: () => [...http.descriptors, ...stream.descriptors],
    handles: () => [...http.handles, ...stream.handles],
    moveFlows: () => stream.moveFlows(),
    leaveFiles: () => {
      http.leaveFiles();
      stream.leaveFiles();
    },
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
    carried: [
      figures.carried(workers - 1),
      metrics.carried(workers - 1),
      moduleZones.carried(workers - 1),
      upstreams.carried,
      streamUpstreams.carried,
    ],
    retire: () => {
      upstreams.retire();
      streamUpstreams.retire();
    },
    moduleZones,
    requestsOf: (number) => figures.requestsOf(number),
  };
}

/** A member in the log: its address, and the name that was resolved to it. */
function memberText({ server, name }: Peer): string {
  return server === name ? `"${server}"` : `"${server}" of "${name}"`;
}

function memberOfControlPlane(server: string, upstream: string): string {
  return `server "${server}" in upstream "${upstream}" leads to the control plane of this server: it gets no connection, unless "api_from_data_plane on" allows it`;
}
