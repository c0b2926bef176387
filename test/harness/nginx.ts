/** nginx itself, where it is installed: what it says of a configuration and how it responds, for tests that compare. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { guard } from './guard.js';
import { findProgram } from './programs.js';
import { tempFolder, writeInto } from './temp.js';
import { waitFor } from './wait.js';

/** Its folders for bodies, where it need not be root. */
const FOLDERS = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path temp;`).join(' ');

function prepare(t: ExecutionContext, http: string, outside = 'events {}'): { program: string; args: string[]; folder: string } {
  const program = findProgram('nginx');
  if (program === undefined) throw new Error('nginx is not installed');
  const folder = tempFolder(t);
  const main = `daemon off; master_process off; pid ${folder}/nginx.pid; error_log stderr;`;
  writeInto(folder, 'nginx.conf', `${main} ${outside}\nhttp { access_log off; ${FOLDERS}\n${http}\n}\n`);
  return { program, args: ['-e', '/dev/null', '-p', folder, '-c', join(folder, 'nginx.conf')], folder };
}

/** Verdict of `nginx -t` on the inside of an `http` block, or of what is before it: its first message without the place, empty if there is none. */
export function nginxVerdict(t: ExecutionContext, http: string, outside?: string): string {
  const { program, args } = prepare(t, http, outside);
  const { stderr } = spawnSync(program, ['-t', ...args], { encoding: 'utf8' });
  return /^nginx: \[(?:emerg|warn)\] (.*?)(?: in \S+:\d+)?$/m.exec(stderr)?.[1] ?? '';
}

/** Starts it with the inside of an `http` block; it ends with the test. */
export async function startNginx(t: ExecutionContext, http: string): Promise<void> {
  const { program, args, folder } = prepare(t, http);
  const child = spawn(program, args, { detached: true, stdio: ['ignore', 'ignore', 'pipe'] });
  if (child.pid !== undefined) guard.watch(child.pid);
  const exited = new Promise((done) => child.once('close', done));
  t.teardown(async () => {
    child.kill('SIGKILL');
    await exited;
    if (child.pid !== undefined) guard.forget(child.pid);
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  await waitFor('the pid file of nginx', () => {
    if (child.exitCode !== null) throw new Error(`nginx ended: ${stderr}`);
    return existsSync(join(folder, 'nginx.pid'));
  });
}
