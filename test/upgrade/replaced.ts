/** A server whose program is replaced. Its process of the beginning ends, the others are found by its pid file. */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import type { Node } from '../control/node.js';
import type { Scope } from '../harness/scope.js';
import { SRV, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** What a start may take on a busy machine. */
const START_MS = 60_000;

export const pidOf = (srv: Srv): number => Number(srv.read('logs/srv.pid'));

/** Call it once for each server: whatever process serves in the end is ended. */
export function endWithTest(t: Scope, srv: Srv): void {
  t.teardown(async () => {
    const pid = pidOf(srv);
    if (pid === srv.pid || !isAlive(pid)) return;
    process.kill(pid, 'SIGTERM');
    await waitFor('the end of the program that serves', () => !isAlive(pid));
  });
}

/** Replaces the program. Resolves with the number of the new process, when that serves. */
export async function upgrade(srv: Srv): Promise<number> {
  const before = pidOf(srv);
  process.kill(before, 'SIGUSR2');
  return waitFor('the new program', () => (pidOf(srv) === before || Number.isNaN(pidOf(srv)) ? undefined : pidOf(srv)), START_MS);
}

/** Helpers of the old program end first. */
export async function apiReady(node: Node): Promise<void> {
  const responds = (): Promise<boolean> =>
    node.call('GET', '/upstream_api/http/upstreams/').then(
      ({ status }) => status === 200,
      () => false,
    );
  await waitFor('the API of the new program', responds, START_MS);
}

interface Outcome {
  readonly code: number | null;
  readonly stderr: string;
}

/** `srv -s upgrade`. */
export function commandUpgrade(srv: Srv, script = SRV): Promise<Outcome> {
  return command(srv, 'upgrade', script);
}

/** `srv -s NAME`. */
export async function command(srv: Srv, name: string, script = SRV): Promise<Outcome> {
  const child = spawn(process.execPath, [script, '-p', srv.prefix, '-c', 'conf/srv.conf', '-s', name]);
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  return new Promise((done) => child.once('close', (code) => done({ code, stderr })));
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Processes that a process has started. */
export function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    try {
      return readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
    } catch {
      return [];
    }
  });
}

/** Its command line, or what it is called; empty: there is none. */
export function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
