import type { Cluster, Redis, RedisOptions } from 'ioredis';
import type { RedisSettings } from './redis-settings.js';

/** Parts of a client of one server and of one of a cluster that are used. */
export type RedisClient = Pick<Redis | Cluster, 'call' | 'on' | 'disconnect' | 'connect'>;

/** Makes a client that connects once, queues nothing while there is no connection, and sends nothing twice. */
export async function createClient(settings: RedisSettings, blocks: boolean): Promise<RedisClient> {
  const { Redis: Single, Cluster: Several } = await import('ioredis');
  const { addresses, socket, sentinel, isCluster, database, user, password, tls, connectTimeout, commandTimeout } = settings;
  const common = {
    lazyConnect: true,
    enableOfflineQueue: false,
    // INFO needs rights of its own: a link checks by itself that Redis responds.
    enableReadyCheck: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    disableClientInfo: true,
    protocol: 2,
    connectTimeout,
    ...(!blocks && { commandTimeout }),
    retryStrategy: null,
    disconnectTimeout: 200,
    ...(user !== undefined && { username: user }),
    ...(password !== undefined && { password }),
    ...(tls && { tls }),
  } satisfies RedisOptions;
  if (isCluster) {
    const options = {
      lazyConnect: true,
      enableOfflineQueue: false,
      enableReadyCheck: false,
      clusterRetryStrategy: null,
      redisOptions: common,
    };
    return new Several([...addresses], options);
  }
  if (sentinel !== undefined) {
    const { master: name, user: sentinelUsername, password: sentinelPassword, hasTls } = sentinel;
    const found = { sentinels: [...addresses], name, sentinelRetryStrategy: () => null, failoverDetector: true };
    const identity = { ...(sentinelUsername && { sentinelUsername }), ...(sentinelPassword && { sentinelPassword }) };
    // By itself "tls" is for neither of them.
    const encrypted = { ...(tls && { enableTLSForSentinelMode: true }), ...(hasTls === true && { sentinelTLS: tls ?? {} }) };
    return new Single({ ...common, ...found, ...identity, ...encrypted });
  }
  const [first] = addresses;
  return new Single({ ...common, db: database, ...(socket === undefined ? first : { path: socket }) });
}
