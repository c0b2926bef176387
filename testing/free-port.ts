/**
 * Free ports for servers under test.
 *
 * Several test files run at once, and a server listens with SO_REUSEPORT: two of them on one port would share its connections without
 * any error. So a port is reserved between processes by a lock file, and comes from below the range that the system takes the ports of
 * outgoing connections from.
 */
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const LOCKS = join(tmpdir(), 'srv-test-ports');
const FIRST = 15_000;
const LAST = 32_000;

/** A port on which nothing listens, reserved for this process until it is released. */
export interface ReservedPort {
  readonly port: number;
  release(): void;
}

/** @throws Error when a thousand ports are all in use */
export async function reservePort(): Promise<ReservedPort> {
  mkdirSync(LOCKS, { recursive: true });
  for (let attempt = 0; attempt < 1000; attempt++) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    const lock = join(LOCKS, String(port));
    if (!reserve(lock)) continue;
    const release = (): void => rmSync(lock, { force: true });
    if (await canListen(port)) return { port, release };
    release();
  }
  throw new Error('no free port found');
}

function reserve(lock: string): boolean {
  for (const attempt of ['first', 'second']) {
    try {
      const descriptor = openSync(lock, 'wx');
      writeSync(descriptor, String(process.pid));
      closeSync(descriptor);
      return true;
    } catch {
      if (attempt === 'second' || !isStale(lock)) return false;
      rmSync(lock, { force: true });
    }
  }
  return false;
}

/** True for the lock of a test process that was killed before it could clean up. */
function isStale(lock: string): boolean {
  try {
    const owner = Number(readFileSync(lock, 'utf8'));
    if (owner <= 0) return false;
    process.kill(owner, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '0.0.0.0', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
