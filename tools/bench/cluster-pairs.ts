/**
 * Key-value pairs of several nodes over a redis-server, as figures: how soon a write is at another node, how long a node takes to join, and how much memory Redis
 * has for each pair. Each node is a process of its own, as its main thread is; the writes come over no API.
 *
 * `node dist/tools/bench/cluster-pairs.js [WRITES A SECOND] [SECONDS] [KEYS] [NODES]`
 */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as pathOf } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { MasterKeyValue } from '../../core/changes/key-value.js';
import { RedisPairLog } from '../../core/changes/redis-pair-log.js';
import { Staging } from '../../core/changes/staging.js';
import { StoreLog } from '../../core/changes/store-log.js';
import { Store } from '../../core/changes/store.js';
import { BlockConnection } from '../../modules/redis/redis-connection.js';
import { freePorts } from './ports.js';

const FILE = fileURLToPath(import.meta.url);
const VALUE = 'x'.repeat(100);
/** Writes of one node that wait for their responses. */
const MOST_WAITING = 64;

interface Pairs {
  readonly pairs: MasterKeyValue;
  readonly connection: BlockConnection;
  readonly close: () => void;
}

function openPairs(name: string, port: number, folder: string): Pairs {
  const store = Store.open(pathOf(folder, name));
  const connection = new BlockConnection('main');
  const log = { write: (_: string, text: string) => void process.stderr.write(`${name}: ${text}\n`), enabled: () => true };
  const pairs = new MasterKeyValue({
    store,
    participants: () => [],
    log,
    heapSize: () => Infinity,
    staging: new Staging(),
    commitLog: new StoreLog(),
    redisLog: ({ wait }) => new RedisPairLog({ connection, nodeName: () => name, log, wait }),
    nodeName: () => name,
  });
  const redis = { name: 'main', write: 'strict', wait: undefined } as const;
  pairs.configure({ folder: undefined, maxSize: 1e9, maxKey: 1024, maxValue: 1e6, redis });
  const address = { addresses: [{ host: '127.0.0.1', port }], socket: undefined, sentinel: undefined, isCluster: false, database: 0 };
  const limits = { prefix: 'srv', connectTimeout: 1000, commandTimeout: 1000, maxPending: 1000 };
  connection.open({ ...address, ...limits, user: undefined, password: undefined, tls: undefined }, 'bench');
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
  const watch = pairs.watch('', (key, value = '') => {
    if (!key.startsWith(own) && value.startsWith('t')) late.push(now() - Number.parseFloat(value.slice(1)));
  });
  const responded: number[] = [];
  const waiting = new Set<Promise<void>>();
  const begin = now();
  for (let n = 0; now() - begin < seconds * 1000;) {
    for (const due = ((now() - begin) / 1000) * rate; n < due && waiting.size < MOST_WAITING; n++) {
      const began = now();
      const write = pairs.set(`${own}${n % 1000}`, `t${began} ${VALUE}`).then(() => {
        responded.push(now() - began);
        waiting.delete(write);
      });
      waiting.add(write);
    }
    await delay(1);
  }
  await Promise.all(waiting);
  await delay(1000);
  watch.end();
  const { user, system } = process.cpuUsage();
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

const percentile = (all: readonly number[], share: number): string =>
  (all.toSorted((a, b) => a - b)[Math.floor(all.length * share)] ?? 0).toFixed(1);

const messageOf = async <T>(child: ChildProcess): Promise<T> => (await once(child, 'message'))[0] as T;

async function memoryOf({ connection }: Pairs): Promise<number> {
  const text = String(await connection.command('INFO', 'memory'));
  return Number(/used_memory:(\d+)/.exec(text)?.[1]);
}

async function fill(port: number, folder: string, keys: number): Promise<string> {
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
  return `memory: ${Math.round(used / keys)} bytes for a pair of ${Math.round(bytes / keys)} bytes, with its change in the stream`;
}

async function main([rate = 1000, seconds = 10, keys = 100_000, nodes = 3]: readonly number[]): Promise<void> {
  const folder = mkdtempSync(pathOf(tmpdir(), 'srv-cluster-pairs-'));
  const [port = 0] = await freePorts(1);
  const redis = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''], { stdio: 'ignore' });
  try {
    await delay(500);
    const names = Array.from({ length: nodes }, (_, at) => `n${at}`);
    const children = names.map((name) => fork(FILE, [name, String(port), folder, String(rate / nodes), String(seconds)]));
    const figures = await Promise.all(children.map((child) => messageOf<{ late: number[]; responded: number[]; cpu: number }>(child)));
    const late = figures.flatMap((figure) => figure.late);
    const responded = figures.flatMap((figure) => figure.responded);
    const made = Math.round(responded.length / seconds);
    const lines = [`${nodes} nodes, ${made} writes a second in all`];
    lines.push(
      `at another node: p50 ${percentile(late, 0.5)} ms, p99 ${percentile(late, 0.99)} ms, ${late.length} of ${responded.length * (nodes - 1)}`,
    );
    lines.push(`response: p50 ${percentile(responded, 0.5)} ms, p99 ${percentile(responded, 0.99)} ms`);
    lines.push(`processor time of the nodes: ${figures.map(({ cpu }) => cpu.toFixed(1)).join(', ')} s in ${seconds} s`);
    lines.push(await fill(port, folder, keys));
    const joined = await messageOf<{ took: number; cpu: number; count: number }>(fork(FILE, ['new', String(port), folder]));
    lines.push(
      `joining: ${joined.count} pairs in ${Math.round(joined.took)} ms, ${Math.round(joined.cpu)} ms of the processor with the start of the program`,
    );
    process.stdout.write(`${lines.join('\n')}\n`);
  } finally {
    redis.kill();
    rmSync(folder, { recursive: true });
  }
}

const [first = '', port = '', folder = '', rate = '', seconds = ''] = process.argv.slice(2);
if (first === 'new') {
  await join(Number(port), folder);
  process.disconnect?.();
} else if (/^n\d/.test(first)) {
  await node(first, Number(port), folder, Number(rate), Number(seconds));
  process.disconnect?.();
} else await main(process.argv.slice(2).map(Number));
