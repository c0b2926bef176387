/**
 * Key-value pairs of several nodes over a redis-server, as figures: how soon a write is at another node, how long a node takes to join, and how much memory Redis
 * has for each pair. Each node is a process of its own, as its main thread is; the writes come over no API.
 *
 * `node dist/tools/bench/cluster-pairs.js [WRITES A SECOND] [SECONDS] [KEYS] [NODES]`
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join as pathOf } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { MasterKeyValue } from '../../core/changes/key-value.js';
import { RedisLog } from '../../core/changes/redis-log.js';
import { PairSequence } from '../../core/changes/pair-sequence.js';
import { Staging } from '../../core/changes/staging.js';
import { StoreLog } from '../../core/changes/store-log.js';
import { Store } from '../../core/changes/store.js';
import type { BlockConnection } from '../../modules/redis/redis-connection.js';
import { openConnection, withRedis } from './cluster-redis.js';
import { percentile } from './statistics.js';

const FILE = fileURLToPath(import.meta.url);
const VALUE = 'x'.repeat(100);
/** Writes of one node that wait for their responses. */
const MOST_WAITING = 64;
/** Until the code of a node is fast, and all of them have begun. */
const WARM_UP_MS = 3000;

interface Pairs {
  readonly pairs: MasterKeyValue;
  readonly connection: BlockConnection;
  readonly close: () => void;
}

function openPairs(name: string, port: number, folder: string): Pairs {
  const store = Store.open(pathOf(folder, name));
  const connection = openConnection(port);
  const log = { write: (_: string, text: string) => void process.stderr.write(`${name}: ${text}\n`), enabled: () => true };
  const pairs = new MasterKeyValue({
    store,
    participants: () => [],
    log,
    heapSize: () => Infinity,
    staging: new Staging(),
    commitLog: new StoreLog(),
    redisLog: ({ wait }) => new RedisLog({ sequence: new PairSequence({ connection, wait }), nodeName: () => name, log }),
    nodeName: () => name,
  });
  const redis = { name: 'main', write: 'strict', wait: undefined } as const;
  pairs.configure({ folder: undefined, maxSize: 1e9, maxKey: 1024, maxValue: 1e6, redis });
  const close = (): void => {
    pairs.close();
    connection.close('end');
    store.close();
  };
  return { pairs, connection, close };
}

const now = (): number => performance.timeOrigin + performance.now();

/** Writes at a pace, and reports how late writes of the other nodes are. The value begins with the time of its write. */
async function node(name: string, port: number, folder: string, rate: number, seconds: number): Promise<void> {
  const { pairs, close } = openPairs(name, port, folder);
  await pairs.follow();
  const late: number[] = [];
  const own = `${name}/`;
  const begin = now() + WARM_UP_MS;
  const watch = pairs.watch('', (key, value = '') => {
    const began = key.startsWith(own) || !value.startsWith('t') ? 0 : Number.parseFloat(value.slice(1));
    if (began >= begin) late.push(now() - began);
  });
  const responded: number[] = [];
  const waiting = new Set<Promise<void>>();
  const before = process.cpuUsage();
  for (let n = 0; now() - begin < seconds * 1000;) {
    for (const due = ((now() - begin + WARM_UP_MS) / 1000) * rate; n < due && waiting.size < MOST_WAITING; n++) {
      const began = now();
      const write = pairs.set(`${own}${n % 1000}`, `t${began} ${VALUE}`).then(() => {
        if (began >= begin) responded.push(now() - began);
        waiting.delete(write);
      });
      waiting.add(write);
    }
    await delay(1);
  }
  await Promise.all(waiting);
  await delay(1000);
  watch.end();
  const { user, system } = process.cpuUsage(before);
  process.send?.({ late, responded, cpu: (user + system) / 1e6 });
  close();
}

/** Milliseconds until a node without a copy has all pairs. */
async function join(port: number, folder: string): Promise<void> {
  const began = performance.now();
  const { pairs, close } = openPairs('new', port, folder);
  await pairs.follow();
  const took = performance.now() - began;
  const cpu = process.cpuUsage();
  process.send?.({ took, cpu: (cpu.user + cpu.system) / 1000, count: (pairs.snapshot() as readonly unknown[]).length });
  close();
}

const messageOf = async <T>(child: ChildProcess): Promise<T> => (await once(child, 'message'))[0] as T;

async function memoryOf({ connection }: Pairs): Promise<number> {
  const text = String(await connection.command('INFO', 'memory'));
  return Number(/used_memory:(\d+)/.exec(text)?.[1]);
}

/** Bytes of Redis for each pair, with its change in the stream, and bytes of the pair itself. */
interface Memory {
  readonly used: number;
  readonly own: number;
}

/** Writes so many pairs without a server. */
export async function fillPairs(port: number, folder: string, keys: number): Promise<Memory> {
  const all = openPairs('filling', port, folder);
  const { pairs, close } = all;
  await pairs.follow();
  const before = await memoryOf(all);
  let bytes = 0;
  for (let n = 0; n < keys; n += 500) {
    const some = Array.from({ length: Math.min(500, keys - n) }, (_, at) => `filled/${n + at}`);
    for (const key of some) bytes += key.length + VALUE.length;
    await Promise.all(some.map((key) => pairs.set(key, VALUE)));
  }
  const used = (await memoryOf(all)) - before;
  close();
  return { used: used / keys, own: bytes / keys };
}

interface Written {
  /** Milliseconds until a write is at another node. */
  readonly late: readonly number[];
  /** Milliseconds until the response. */
  readonly responded: readonly number[];
  /** Seconds of the processor. */
  readonly cpu: number;
}

interface Joined {
  /** Milliseconds. */
  readonly took: number;
  /** Milliseconds of the processor, with the start of the program. */
  readonly cpu: number;
  readonly count: number;
}

export interface PairFigures {
  readonly nodes: readonly Written[];
  readonly memory: Memory;
  readonly joined: Joined;
}

export interface PairLoad {
  /** Writes a second of all nodes. */
  readonly rate: number;
  readonly seconds: number;
  readonly keys: number;
  readonly nodes: number;
}

export function measureClusterPairs({ rate, seconds, keys, nodes }: PairLoad): Promise<PairFigures> {
  return withRedis(async ({ port, folder }) => {
    const names = Array.from({ length: nodes }, (_, at) => `n${at}`);
    const children = names.map((name) => fork(FILE, [name, String(port), folder, String(rate / nodes), String(seconds)]));
    const written = await Promise.all(children.map((child) => messageOf<Written>(child)));
    const memory = await fillPairs(port, folder, keys);
    return { nodes: written, memory, joined: await messageOf<Joined>(fork(FILE, ['new', String(port), folder])) };
  });
}

const percentiles = (all: readonly number[]): string =>
  `p50 ${percentile(all, 0.5).toFixed(1)} ms, p99 ${percentile(all, 0.99).toFixed(1)} ms`;

async function main([rate = 1000, seconds = 10, keys = 100_000, nodes = 3]: readonly number[]): Promise<void> {
  const figures = await measureClusterPairs({ rate, seconds, keys, nodes });
  const late = figures.nodes.flatMap((figure) => figure.late);
  const responded = figures.nodes.flatMap((figure) => figure.responded);
  const { memory, joined } = figures;
  const lines = [
    `${nodes} nodes, ${Math.round(responded.length / seconds)} writes a second in all`,
    `at another node: ${percentiles(late)}, ${late.length} of ${responded.length * (nodes - 1)}`,
    `response: ${percentiles(responded)}`,
    `processor time of the nodes: ${figures.nodes.map(({ cpu }) => cpu.toFixed(1)).join(', ')} s in ${seconds} s`,
    `memory: ${Math.round(memory.used)} bytes for a pair of ${Math.round(memory.own)} bytes, with its change in the stream`,
    `joining: ${joined.count} pairs in ${Math.round(joined.took)} ms, ${Math.round(joined.cpu)} ms of the processor with the start of the program`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

if (process.argv[1] === FILE) {
  const [first = '', port = '', folder = '', rate = '', seconds = ''] = process.argv.slice(2);
  if (first === 'new') {
    await join(Number(port), folder);
    process.disconnect?.();
  } else if (/^n\d/.test(first)) {
    await node(first, Number(port), folder, Number(rate), Number(seconds));
    process.disconnect?.();
  } else await main(process.argv.slice(2).map(Number));
}
