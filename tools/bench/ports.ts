import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** `count` different free ports of the loopback interface. */
export async function freePorts(count: number): Promise<number[]> {
  // All are held open together, so that the system cannot give the same port twice.
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}
