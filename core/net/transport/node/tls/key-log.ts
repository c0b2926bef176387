import type { KeyLog } from '../../../../contract/manifest.js';

/** A TLSSocket of Node.js. */
interface SecretSource {
  on(event: 'keylog', listener: (line: Buffer) => void): unknown;
}

/** Writes the secrets of a connection that is not agreed on yet. */
export function logKeys(socket: SecretSource, log: KeyLog): void {
  socket.on('keylog', (line: Buffer) => log.write(line.latin1Slice().trimEnd()));
}
