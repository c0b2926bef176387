/** Records of the nodes of a cluster, which each writes of itself: a hash in Redis, `…nodes`. */
import type { ClusterPairs } from '../contract/cluster.js';
import type { RedisConnection } from '../contract/redis.js';
import type { NodeStatus } from './log-follower.js';
import { parseNodeRecord } from './node-record-form.js';
import { script } from './redis-script.js';

/** A node that has written nothing for so long is away; its record is kept for a day. Milliseconds. */
const ALIVE_MS = 5000;
const KEPT_MS = 24 * 60 * 60 * 1000;

export interface NodeRecord {
  /** Of its data folder: another node with the same name has another one. */
  readonly id: number;
  readonly address: string;
  readonly srv: string;
  readonly epoch: number;
  readonly version: number;
  readonly state: NodeStatus['state'];
  /** Epoch milliseconds. */
  readonly since: number;
  readonly entry?: number | undefined;
  readonly reason?: string | undefined;
  readonly isStale: boolean;
  /** Digests of its files, by the name of directives of the main level. */
  readonly files: Readonly<Record<string, string>>;
  readonly pairs?: ClusterPairs | undefined;
}

export interface KnownNode extends NodeRecord {
  readonly name: string;
  readonly isAlive: boolean;
}

export interface KnownNodes {
  readonly nodes: readonly KnownNode[];
  /** Names of records that have another form. */
  readonly ignored: readonly string[];
  readonly epoch: number;
  /** Of the last change. */
  readonly version: number;
  /** The record that was replaced is that of another node, which is alive. */
  readonly isShadowed: boolean;
}

/**
 * KEYS: nodes, config. ARGV: name and record of this node, age at which a record is removed.
 * @returns time, the record before, all records, epoch and version of the configuration
 */
const PUBLISH = script(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local before = redis.call('HGET', KEYS[1], ARGV[1]) or ''
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f ', now) .. ARGV[2])
local all = redis.call('HGETALL', KEYS[1])
for at = 2, #all, 2 do
  local seen = tonumber(string.match(all[at], '^%d+')) or 0
  if now - seen > tonumber(ARGV[3]) then redis.call('HDEL', KEYS[1], all[at - 1]) end
end
local config = redis.call('HMGET', KEYS[2], 'epoch', 'version')
return {string.format('%.0f', now), before, all, config[1] or '0', config[2] or '0'}
`);

type Published = readonly [now: string, before: string, all: readonly string[], epoch: string, version: string];

const keysOf = ({ keys }: RedisConnection): readonly [string, string] => [`${keys}nodes`, `${keys}config`];

/** @throws RedisFailure */
export async function publishNode(connection: RedisConnection, name: string, record: NodeRecord): Promise<KnownNodes> {
  const reply = await connection.script(PUBLISH, keysOf(connection), [name, JSON.stringify(record), KEPT_MS]);
  const [now, before, all, epoch, version] = reply as Published;
  const nodes: KnownNode[] = [];
  const ignored: string[] = [];
  for (let at = 0; at < all.length; at += 2) {
    const node = knownNode(all[at] ?? '', all[at + 1] ?? '', Number(now));
    if (node === undefined) ignored.push(all[at] ?? '');
    else nodes.push(node);
  }
  const earlier = before === '' ? undefined : knownNode(name, before, Number(now));
  const isShadowed = earlier?.isAlive === true && earlier.id !== record.id;
  return {
    nodes: nodes.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    ignored,
    epoch: Number(epoch),
    version: Number(version),
    isShadowed,
  };
}

/** @throws RedisFailure */
export async function forgetNode(connection: RedisConnection, name: string): Promise<void> {
  await connection.command('HDEL', keysOf(connection)[0], name);
}

/** @returns undefined: it has another form */
function knownNode(name: string, text: string, now: number): KnownNode | undefined {
  const space = text.indexOf(' ');
  const record = parseNodeRecord(text.slice(space + 1));
  return record && { ...record, name, isAlive: Math.abs(now - Number(text.slice(0, space))) < ALIVE_MS };
}

/** True if a node has a version, or a later one. */
export const hasApplied = (
  node: Pick<NodeRecord, 'epoch' | 'version'>,
  { epoch, version }: Pick<NodeRecord, 'epoch' | 'version'>,
): boolean => node.epoch > epoch || (node.epoch === epoch && node.version >= version);
