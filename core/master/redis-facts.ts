import type { ClusterRedis } from '../contract/cluster.js';
import type { RedisConnection } from '../contract/redis.js';

/** Keys of a cluster, after the common beginning. */
const KEYS = ['config', 'config:changes', 'config:news', 'config:snapshot', 'nodes', 'meta', 'pairs', 'changes'] as const;

/** State of a Redis, and what of it can be asked with the rights of this node. */
export async function redisFacts(connection: RedisConnection): Promise<ClusterRedis> {
  const { name, status } = connection;
  const { state, reason, since, latency } = status;
  const facts = { name, state, reason, since, latency };
  if (state === 'away') return { ...facts, role: undefined, memory: undefined };
  const [role, memory] = await Promise.all([roleOf(connection), memoryOf(connection)]);
  return { ...facts, role, memory };
}

async function roleOf(connection: RedisConnection): Promise<string | undefined> {
  const reply = await connection.command('HELLO').catch(() => undefined);
  if (!Array.isArray(reply)) return undefined;
  const role: unknown = reply[reply.indexOf('role') + 1];
  return typeof role === 'string' ? role : undefined;
}

async function memoryOf(connection: RedisConnection): Promise<number | undefined> {
  const sizes = KEYS.map((key) => connection.command('MEMORY', 'USAGE', connection.keys + key));
  const replies = await Promise.all(sizes).catch(() => undefined);
  return replies?.reduce<number>((sum, size) => sum + Number(size ?? 0), 0);
}
