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

/** A sentinel that watches a master as `main`, with one replica. @param lines further ones of its configuration */
export async function startSentinel(t: Scope, master: number, lines: readonly string[] = []): Promise<Sentinel> {
  const port = await freePort(t);
  const watched = [`port ${port}`, 'bind 127.0.0.1', `sentinel monitor main 127.0.0.1 ${master} 1`];
  const limits = ['sentinel down-after-milliseconds main 300', 'sentinel failover-timeout main 1000'];
  const folder = tempFolder(t, { 'sentinel.conf': [...watched, ...limits, ...lines, ''].join('\n') });
  const sentinel = spawn(findProgram('redis-server') ?? '', [join(folder, 'sentinel.conf'), '--sentinel'], { stdio: 'ignore' });
  t.teardown(async () => {
    const exited = once(sentinel, 'exit');
    sentinel.kill('SIGKILL');
    await exited;
  });
  await waitFor('the sentinel and its replica', async () => {
    const reply = await askRedis(port, 'SENTINEL', 'REPLICAS', 'main').catch(() => '');
    return reply.includes('master-link-status') && reply.includes('ok');
  });
  return { port, ask: (...command) => askRedis(port, ...command) };
}
