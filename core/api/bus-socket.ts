import type { Duplex } from 'node:stream';
import type { BusListening } from '../contract/bus-access.js';
import { SocketFile } from '../net/socket-file.js';
import type { ListeningSocket } from '../net/transport/listening.js';
import { acceptedStream } from '../net/transport/transport.js';
import { listenOnPath } from '../net/unix-listener.js';

/** Its user alone may connect. */
const MODE = 0o600;

/** Listens on the unix socket of the bus, in the place of one that a killed broker has left. @throws Error of the system (rejects) */
export async function listenForBus(path: string, accept: (connection: Duplex) => void): Promise<BusListening> {
  const file = SocketFile.make(path);
  let socket: ListeningSocket;
  try {
    socket = await listenOnPath(file.privatePath, (connection) => accept(acceptedStream(connection)));
  } catch (error) {
    file.abandon();
    throw error;
  }
  try {
    file.publish(MODE);
  } catch (error) {
    socket.close();
    throw error;
  }
  return {
    close() {
      socket.close();
      file.remove();
    },
  };
}
