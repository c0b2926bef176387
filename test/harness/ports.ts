import { once } from 'node:events';
import { createServer } from 'node:net';
import { reservePort } from '../../testing/free-port.js';
import type { Scope } from './scope.js';

/** A port on which nothing listens, reserved for this test until it ends. */
export async function freePort(t: Scope): Promise<number> {
  const reserved = await reservePort();
  t.teardown(() => reserved.release());
  return reserved.port;
}

/** A port that only root may bind, and that is free. */
export async function lowPort(): Promise<number> {
  for (;;) {
    const port = 512 + Math.floor(Math.random() * 500);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    server.close();
    if (isFree) return port;
  }
}
