import { ApiRoutes } from '../contract/api-routes.js';
import { BusAccess } from '../contract/bus-access.js';
import { Channels } from '../contract/channels.js';
import { ClientConnections } from '../contract/client-connections.js';
import { Cluster } from '../contract/cluster.js';
import { ControlPlaneGuard } from '../contract/control-plane-guard.js';
import { DataPlane } from '../contract/data-plane.js';
import { EventMethod } from '../contract/event-method.js';
import { EventLog, Events } from '../contract/events.js';
import { Exchanges, Requests } from '../contract/exchanges.js';
import { Explainer } from '../contract/explain.js';
import { Families } from '../contract/families.js';
import { HelperHost } from '../contract/helper-host.js';
import { ConfigurationHistory } from '../contract/history.js';
import { HostNames } from '../contract/host-names.js';
import { KeyValue } from '../contract/key-value.js';
import { Log, LogRecords } from '../contract/log.js';
import { LogFiles } from '../contract/log-files.js';
import { Metrics } from '../contract/metrics.js';
import { ServerInfo } from '../contract/server-info.js';
import { ServerStatus } from '../contract/server-status.js';
import { Statistics } from '../contract/statistics.js';
import { Storage } from '../contract/storage.js';
import { SessionRelays } from '../contract/stream-relays.js';
import { StreamServers, StreamUpstreams } from '../contract/stream-servers.js';
import { SystemFiles } from '../contract/system-files.js';
import { Tasks } from '../contract/tasks.js';
import { TlsLibrary } from '../contract/tls-library.js';
import { Transactions } from '../contract/transactions.js';
import { Sockets } from '../contract/sockets.js';
import { Tunnels } from '../contract/tunnel.js';
import { Upstreams } from '../contract/upstreams.js';
import { VirtualServers } from '../contract/virtual-servers.js';
import { Zones } from '../contract/zones.js';

/** Services that the constructor of a module may take. */
export const SERVICE_TOKENS: ReadonlySet<unknown> = new Set<unknown>([
  ApiRoutes,
  BusAccess,
  Channels,
  ClientConnections,
  Cluster,
  ConfigurationHistory,
  ControlPlaneGuard,
  DataPlane,
  EventLog,
  EventMethod,
  Events,
  Exchanges,
  Explainer,
  Families,
  HelperHost,
  HostNames,
  Requests,
  KeyValue,
  Log,
  LogFiles,
  LogRecords,
  Metrics,
  ServerInfo,
  ServerStatus,
  SessionRelays,
  Sockets,
  Statistics,
  Storage,
  StreamServers,
  StreamUpstreams,
  SystemFiles,
  Tasks,
  TlsLibrary,
  Transactions,
  Tunnels,
  Upstreams,
  VirtualServers,
  Zones,
]);
