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
import type { Services } from './services.js';

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

/** The services that a module has for itself. A helper has few of them, and the data folder is the main thread's. */
export function ownServices({ name, isShipped }: LoadedModule, { services, log, limited }: Surroundings): OwnServices {
  const tasks = new ModuleTasks(name, log, limited);
  const own = new Map<unknown, object>([[Tasks, tasks]]);
  const belongings: Belonging[] = [];
  const belong = (token: unknown, service: Belonging): void => {
    own.set(token, service);
    belongings.push(service);
  };
  // Shipped modules log nginx's texts, which are searched for.
  if (!isShipped) own.set(Log, new ModuleLog(name, log));
  if (services.has(ZoneMetrics)) belong(Metrics, new ModuleMetrics(name, services.get(ZoneMetrics)));
  if (services.has(FamilySources)) belong(Families, new ModuleFamilies(services.get(FamilySources)));
  if (services.has(ConnectionWatch)) belong(ClientConnections, new ModuleConnections(services.get(ConnectionWatch)));
  if (services.has(ModuleZones)) belong(Zones, new OwnZones(name, services.get(ModuleZones)));
  if (services.has(KeyValue)) belong(KeyValue, new ModuleKeyValue(name, services.get(KeyValue), log, limited));
  if (services.has(ChannelHub)) belong(Channels, new ModuleChannels(name, services.get(ChannelHub), log, limited));
  if (services.has(ModuleStorages)) own.set(Storage, services.get(ModuleStorages).of(name));
  return { own, tasks, belongings };
}
