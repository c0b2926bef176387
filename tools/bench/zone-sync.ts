/**
 * Cost of zones with `sync`: nodes whose workers count requests of 100,000 keys, and a redis-server. Prints the processor time of the main thread of a node, which
 * sends and receives, and of Redis.
 *
 * `node dist/tools/bench/zone-sync.js [KEYS] [COUNTS A SECOND OF A NODE] [SECONDS] [NODES]`
 */
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { ZoneRecords } from '../../core/zone/records.js';
import { ZoneExchange } from '../../core/zone/sync/zone-exchange.js';
import { Zone } from '../../core/zone/zone.js';
import { BlockConnection } from '../../modules/redis/redis-connection.js';

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
  const connection = new BlockConnection('main');
  const exchange = new ZoneExchange({
    connection,
    nodeName: name,
    log: { write: (_, text) => void process.stderr.write(`${text}\n`), enabled: () => true },
  });
  const address = { addresses: [{ host: '127.0.0.1', port }], socket: undefined, sentinel: undefined, isCluster: false, database: 0 };
  const limits = { prefix: 'srv', connectTimeout: 1000, commandTimeout: 1000, maxPending: 100 };
  connection.open({ ...address, ...limits, user: undefined, password: undefined, tls: undefined }, 'bench');
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

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { readonly port: number };
  server.close();
  return port;
}

/** Processor time of a process so far, in seconds. */
function processorTime(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function main([keys = 100_000, rate = 10_000, seconds = 10, nodes = 3]: readonly number[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'srv-zone-sync-'));
  const port = await freePort();
  const redis = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''], { stdio: 'ignore' });
  try {
    await delay(500);
    const names = Array.from({ length: nodes }, (_, at) => `n${at}`);
    const children = names.map((name) => fork(FILE, [name, String(port), String(keys), String(rate), String(seconds)]));
    await delay(3000);
    const before = processorTime(redis.pid ?? 0);
    const costs = await Promise.all(children.map(async (child) => (await once(child, 'message'))[0] as Cost));
    const used = processorTime(redis.pid ?? 0) - before;
    const rss = / VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${redis.pid ?? 0}/status`, 'utf8').replaceAll('\n', ' '))?.[1];
    const lines = costs.map(({ percent, waiting }) => `main thread: ${percent.toFixed(1)} % of a core, ${waiting} keys not sent yet`);
    const redisLine = `redis-server: ${((used / (seconds + 0.5)) * 100).toFixed(1)} % of a core, ${Math.round(Number(rss) / 1024)} MiB`;
    process.stdout.write([`${nodes} nodes, ${keys} keys, ${rate} counts a second on each`, ...lines, redisLine, ''].join('\n'));
  } finally {
    redis.kill();
    rmSync(folder, { recursive: true });
  }
}

const [first = '', ...others] = process.argv.slice(2);
if (!isMainThread) await count(workerData as Load & { readonly buffer: SharedArrayBuffer });
else if (/^n\d/.test(first)) {
  const [port = 0, keys = 0, rate = 0, seconds = 0] = others.map(Number);
  process.send?.(await node(first, port, { keys, rate }, seconds));
  process.disconnect?.();
} else await main([first, ...others].filter((text) => text !== '').map(Number));
