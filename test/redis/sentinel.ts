import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { findProgram } from '../harness/programs.js';
import { freePort } from '../harness/ports.js';
import { askRedis } from '../harness/redis.js';
import type { Scope } from '../harness/scope.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';

export interface Sentinel {
  readonly port: number;
  /** The beginning of its reply. */
  ask(...command: readonly string[]): Promise<string>;
}

/** A line that names a master comes after the one that declares it. */
const isLate = (line: string): boolean => line.startsWith('sentinel auth-pass');

interface SentinelOptions {
  /** Port with TLS of the master, which it uses then, by the name `localhost`, in the place of the other one. */
  readonly tlsPort?: number;
}

/** A sentinel that watches a master as `main`: with one replica, unless it uses TLS. @param lines further ones of its configuration, which come first */
export async function startSentinel(
  t: Scope,
  master: number,
  lines: readonly string[] = [],
  { tlsPort }: SentinelOptions = {},
): Promise<Sentinel> {
  const port = await freePort(t);
  const address = tlsPort === undefined ? `127.0.0.1 ${master}` : `localhost ${tlsPort}`;
  const encrypted = tlsPort === undefined ? [] : ['tls-replication yes'];
  const watched = [`port ${port}`, 'bind 127.0.0.1', ...encrypted, `sentinel monitor main ${address} 1`];
  const [first, then] = [lines.filter((line) => !isLate(line)), lines.filter(isLate)];
  const limits = ['sentinel down-after-milliseconds main 300', 'sentinel failover-timeout main 1000'];
  const folder = tempFolder(t, { 'sentinel.conf': [...first, ...watched, ...limits, ...then, ''].join('\n') });
  const sentinel = spawn(findProgram('redis-server') ?? '', [join(folder, 'sentinel.conf'), '--sentinel'], { stdio: 'ignore' });
  t.teardown(async () => {
    const exited = once(sentinel, 'exit');
    sentinel.kill('SIGKILL');
    await exited;
  });
  await waitFor('the sentinel and its replica', async () => {
    const reply = await askRedis(port, 'SENTINEL', 'REPLICAS', 'main').catch(() => '');
    return tlsPort === undefined ? reply.includes('master-link-status') && reply.includes('ok') : reply !== '';
  });
  return { port, ask: (...command) => askRedis(port, ...command) };
}
