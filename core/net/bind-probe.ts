import { accessSync, constants, lstatSync, unlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { Dialer } from './dialer.js';
import { systemError } from './socket-error.js';
import type { ListenOptions } from './listen-options.js';
import { NodeTransport } from './transport/transport.js';

const NOTHING = Buffer.alloc(0);

/** Where to bind. */
type Place = Pick<ListenOptions, 'host' | 'port' | 'path' | 'ipv6Only' | 'udp'>;

/**
 * Binds an address alone, for a moment: fails like nginx's bind does when another program has it. For a unix socket it also removes the
 * file that a dead server left.
 * @param wasOurs sessions of this server may still use the address, which matters for UDP
 * @throws Error of the system: EADDRINUSE, EACCES …
 */
export async function bindProbe(options: Place, wasOurs = false): Promise<void> {
  const { host, port, path, ipv6Only, udp } = options;
  if (path !== undefined) {
    await clearSocketFile(path);
    return;
  }
  if (udp) {
    probeUdp(options, wasOurs);
    return;
  }
  const place = { host, port, path: undefined, ipv6Only, shared: false, descriptor: undefined, backlog: 1, secure: true, buffer: NOTHING };
  const socket = await new NodeTransport().listen(place, {
    onAccepted: (connection) => connection.destroy(),
    onAcceptFailed: () => undefined,
    newMemory: () => undefined,
  });
  socket.close();
}

/**
 * As {@link bindProbe}, for a check of the configuration: the address may be in use, by the server that the check is for, and an existing
 * file in the place of a unix socket stays.
 * @param isRootsMatter another process with the right to do so will bind it
 * @throws Error of the system: EADDRNOTAVAIL, EACCES …
 */
export async function bindCheck(options: Place, isRootsMatter = false): Promise<void> {
  try {
    if (options.path === undefined) await bindProbe(options);
    else accessSync(dirname(options.path), constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EADDRINUSE' && !(code === 'EACCES' && isRootsMatter)) throw error;
  }
}

function probeUdp({ host, port, ipv6Only }: Place, reusePort: boolean): void {
  const socket = new NodeTransport().datagrams(
    host,
    { onDatagram: () => undefined, onSocketError: () => undefined },
    { ipv6Only, reusePort },
  );
  try {
    socket.bind(host, port);
  } finally {
    socket.close();
  }
}

async function clearSocketFile(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw systemError('EADDRINUSE');
  if (await isServed(path)) throw systemError('EADDRINUSE');
  unlinkSync(path);
}

/** A server listens on this unix socket. */
function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = Dialer.plain().connect(
      { path },
      {
        onConnect() {
          connection.destroy();
          resolve(true);
        },
        onError: () => resolve(false),
        onData: () => undefined,
        onEnd: () => undefined,
        onDrain: () => undefined,
        onClose: () => undefined,
      },
    );
  });
}
