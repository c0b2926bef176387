/**
 * Cost of zones with `sync`: nodes whose workers count requests of 100,000 keys, and a redis-server. Prints the processor time of the main thread of a node, which
 * sends and receives, and of Redis.
 *
 * `node dist/tools/bench/zone-sync.js [KEYS] [COUNTS A SECOND OF A NODE] [SECONDS] [NODES]`
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { ZoneRecords } from '../../core/zone/records.js';
import { ZoneExchange } from '../../core/zone/sync/zone-exchange.js';
import { Zone } from '../../core/zone/zone.js';
import { openConnection, withRedis } from './cluster-redis.js';
import { cpuSince, cpuTime, residentBytes } from './usage.js';

const FILE = fileURLToPath(import.meta.url);
const SIZE = 32 * 1024 * 1024;
const OPTIONS = { fields: ['last', 'excess', 'passed'], ttl: 60_000, sync: { counts: ['passed'] } } as const;
const CLOCK = {
  get now(): number {
    return Date.now();
  },
};

interface Load {
  readonly keys: number;
  /** Counts a second. */
  readonly rate: number;
}

/** Of a main thread: processor time in percent of a core, and keys that its workers have changed and it has not sent yet. */
interface Cost {
  readonly percent: number;
  readonly waiting: number;
}

const openRecords = (zone: Zone) => ZoneRecords.open(zone, OPTIONS, CLOCK, 'count')!;

/** A worker: counts requests at a pace. */
async function count({ buffer, keys, rate }: Load & { readonly buffer: SharedArrayBuffer }): Promise<void> {
  const records = openRecords(Zone.attach('rate', buffer));
  const begin = performance.now();
  let done = 0;
  for (;;) {
    const due = ((performance.now() - begin) / 1000) * rate;
    for (; done < due; done++) records.add(String(10_000_000 + ((done * 7919) % keys)), 'passed', 1);
    await delay(5);
  }
}

/** A node: its main thread, and a worker. */
async function node(name: string, port: number, load: Load, seconds: number): Promise<Cost> {
  const zone = Zone.create('rate', SIZE);
  openRecords(zone);
  const connection = openConnection(port);
  const exchange = new ZoneExchange({
    connection,
    nodeName: name,
    log: { write: (_, text) => void process.stderr.write(`${text}\n`), enabled: () => true },
  });
  await connection.attempted;
  exchange.share([zone], 100);
  const worker = new Worker(FILE, { workerData: { buffer: zone.buffer, ...load } });
  await delay(3000);
  const [before, began] = [process.threadCpuUsage(), performance.now()];
  await delay(seconds * 1000);
  const { user, system } = process.threadCpuUsage(before);
  const percent = (user + system) / 10 / (performance.now() - began);
  const waiting = [...zone.synced.values()].reduce((sum, table) => sum + table.waiting, 0);
  await worker.terminate();
  exchange.close();
  connection.close('end');
  return { percent, waiting };
}

/** Of the main threads of the nodes, and of a redis-server for them. */
export interface ZoneCosts {
  readonly nodes: readonly Cost[];
  /** Percent of a core. */
  readonly redis: number;
  /** Resident memory in MiB. */
  readonly memory: number;
}

/** @param load of each node */
export function measureZones(load: Load, seconds: number, nodes: number): Promise<ZoneCosts> {
  return withRedis(async ({ port, pid }) => {
    const names = Array.from({ length: nodes }, (_, at) => `n${at}`);
    const children = names.map((name) => fork(FILE, [name, ...[port, load.keys, load.rate, seconds].map(String)]));
    await delay(3000);
    const before = cpuTime(pid);
    const costs = await Promise.all(children.map(async (child) => (await once(child, 'message'))[0] as Cost));
    const redis = (cpuSince(before, pid) / (seconds + 0.5)) * 100;
    return { nodes: costs, redis, memory: residentBytes(pid) / 2 ** 20 };
  });
}

async function main([keys = 100_000, rate = 10_000, seconds = 10, nodes = 3]: readonly number[]): Promise<void> {
  const { nodes: costs, redis, memory } = await measureZones({ keys, rate }, seconds, nodes);
  const lines = costs.map(({ percent, waiting }) => `main thread: ${percent.toFixed(1)} % of a core, ${waiting} keys not sent yet`);
  const redisLine = `redis-server: ${redis.toFixed(1)} % of a core, ${Math.round(memory)} MiB`;
  process.stdout.write([`${nodes} nodes, ${keys} keys, ${rate} counts a second on each`, ...lines, redisLine, ''].join('\n'));
}

if (!isMainThread) await count(workerData as Load & { readonly buffer: SharedArrayBuffer });
else if (process.argv[1] === FILE) {
  const [first = '', ...others] = process.argv.slice(2);
  if (/^n\d/.test(first)) {
    const [port = 0, keys = 0, rate = 0, seconds = 0] = others.map(Number);
    process.send?.(await node(first, port, { keys, rate }, seconds));
    process.disconnect?.();
  } else await main([first, ...others].filter((text) => text !== '').map(Number));
}
