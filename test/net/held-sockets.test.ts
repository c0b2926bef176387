import { once } from 'node:events';
import { createServer } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import type { SocketRequest } from '../../core/net/socket-source.js';
import { HeldSockets } from '../../core/parent/held-sockets.js';
import { freePort } from '../harness/ports.js';

function heldSockets(t: ExecutionContext): HeldSockets {
  const sockets = new HeldSockets({ uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }, [], []);
  t.teardown(() => sockets.close());
  return sockets;
}

const request = (port: number): SocketRequest => ({
  key: `127.0.0.1:${port}`,
  host: '127.0.0.1',
  port,
  path: undefined,
  udp: false,
  ipv6Only: true,
  mode: undefined,
  shared: true,
});

test('an address whose workers are about to end is bound again when they have closed their sockets', async (t) => {
  const port = await freePort(t);
  const sockets = heldSockets(t);
  const first = await sockets.open(request(port), 0);
  const worker = createServer().listen({ host: '127.0.0.1', port, reusePort: true });
  await once(worker, 'listening');
  sockets.releaseWorkers(0);
  const again = sockets.open(request(port), 0);
  setTimeout(() => worker.close(), 100);
  t.not(await again, first);
});

test('an address of another program is reported at once', async (t) => {
  const other = createServer().listen(0, '127.0.0.1');
  t.teardown(() => other.close());
  await once(other, 'listening');
  const { port } = other.address() as { readonly port: number };
  const begin = performance.now();
  await t.throwsAsync(heldSockets(t).open(request(port), 0), { code: 'EADDRINUSE' });
  t.true(performance.now() - begin < 4000);
});
