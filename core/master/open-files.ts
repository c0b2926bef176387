import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Longest time for prlimit(1), in milliseconds. */
const TIMEOUT_MS = 5000;

/**
 * Sets how many files this process may have open (RLIMIT_NOFILE). Node.js has no call for it: prlimit(1) of util-linux does it.
 * @returns why it could not; undefined: it is so now
 */
export function limitOpenFiles(count: number): string | undefined {
  try {
    const [, soft, hard = ''] = /^Max open files\s+(\d+)\s+(\w+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
    if (Number(soft) === count) return undefined;
    const most = hard === 'unlimited' ? hard : Math.max(Number(hard), count);
    execFileSync('prlimit', [`--pid=${process.pid}`, `--nofile=${count}:${most}`], {
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: TIMEOUT_MS,
    });
    return undefined;
  } catch (error) {
    const { code, stderr } = error as NodeJS.ErrnoException & { readonly stderr?: Buffer };
    if (code === 'ENOENT') return 'it needs Linux with prlimit (util-linux)';
    return stderr?.toString().trim() || (error as Error).message;
  }
}
