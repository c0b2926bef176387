import { ModuleStorages } from '../changes/module-storage.js';
import { ClientConnections } from '../contract/client-connections.js';
import { Channels } from '../contract/channels.js';
import { Families } from '../contract/families.js';
import { KeyValue } from '../contract/key-value.js';
import { Log } from '../contract/log.js';
import { Metrics } from '../contract/metrics.js';
import { Storage } from '../contract/storage.js';
import { Tasks } from '../contract/tasks.js';
import { Zones } from '../contract/zones.js';
import { ConnectionWatch } from '../net/connection-watch.js';
import { ZoneMetrics } from '../zone/metrics.js';
import type { LimitedCall } from './call-limit.js';
import { ChannelHub } from './channel-hub.js';
import { ModuleChannels } from './module-channels.js';
import { ModuleConnections } from './module-connections.js';
import type { LoadedModule } from './module-file.js';
import type { Belonging } from './module-life.js';
import { FamilySources, ModuleFamilies } from './module-families.js';
import { ModuleKeyValue } from './module-key-value.js';
import { ModuleLog } from './module-log.js';
import { ModuleMetrics } from './module-metrics.js';
import { ModuleTasks } from './module-tasks.js';
import { ModuleZones } from './module-zones.js';
import { OwnZones } from './own-zones.js';
import { wantedServices, type Services, type ServiceToken } from './services.js';

/** Services of one module in one thread. */
export interface OwnServices {
  /** Services by what its constructor asks for. */
  readonly own: Map<unknown, object>;
  readonly tasks: ModuleTasks;
  /** Services that begin and end with it. */
  readonly belongings: readonly Belonging[];
}

interface Surroundings {
  readonly services: Services;
  /** The server's. */
  readonly log: Log;
  readonly limited: LimitedCall;
}

/** The services that a module has for itself, if its constructor takes them. A helper has few of them, and the data folder is the main thread's. */
export function ownServices({ name, isShipped, class: moduleClass }: LoadedModule, { services, log, limited }: Surroundings): OwnServices {
  const tasks = new ModuleTasks(name, log, limited);
  const own = new Map<unknown, object>([[Tasks, tasks]]);
  const belongings: Belonging[] = [];
  // There are dozens of modules, most of which take one service or none.
  const wanted = new Set(wantedServices(moduleClass));
  const belong = <T extends object>(token: unknown, common: ServiceToken<T>, create: (common: T) => Belonging): void => {
    if (!wanted.has(token) || !services.has(common)) return;
    const service = create(services.get(common));
    own.set(token, service);
    belongings.push(service);
  };
  // Shipped modules log nginx's texts, which are searched for.
  if (!isShipped) own.set(Log, new ModuleLog(name, log));
  belong(Metrics, ZoneMetrics, (metrics) => new ModuleMetrics(name, metrics));
  belong(Families, FamilySources, (sources) => new ModuleFamilies(sources));
  belong(ClientConnections, ConnectionWatch, (watch) => new ModuleConnections(watch));
  belong(Zones, ModuleZones, (zones) => new OwnZones(name, zones));
  belong(KeyValue, KeyValue, (pairs) => new ModuleKeyValue(name, pairs, log, limited));
  belong(Channels, ChannelHub, (hub) => new ModuleChannels(name, hub, log, limited));
  if (wanted.has(Storage) && services.has(ModuleStorages)) own.set(Storage, services.get(ModuleStorages).of(name));
  return { own, tasks, belongings };
}
