import type { TLSSocket } from 'node:tls';
import type { KeyLog } from '../contract/manifest.js';

/** Writes the secrets of a connection that is not agreed on yet. */
export function logKeys(socket: TLSSocket, log: KeyLog): void {
  socket.on('keylog', (line: Buffer) => log.write(line.latin1Slice().trimEnd()));
}
