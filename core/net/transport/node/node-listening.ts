import net, { type Server } from 'node:net';
import type { Connection } from '../connection.js';
import type { ListenPlace, ListeningSocket, ListeningUser } from '../listening.js';
import { acceptInto, type SocketReads } from './accept.js';
import { bindTcp, listenOn } from './listen-at.js';
import { attach, onRead, readStream } from './socket-events.js';

/** Internals of a server that are used here. */
interface ServerInside {
  readonly _handle?: { readonly fd?: number; listen?(backlog: number): number } | null;
}

/** Over net.Server. */
export class NodeListening implements ListeningSocket {
  private constructor(private readonly server: Server) {}

  /** @throws Error of the system */
  static open(place: ListenPlace, user: ListeningUser): Promise<NodeListening> {
    const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (socket: Connection & net.Socket) => {
      readStream(socket);
      accepted(socket, user);
    });
    if (!place.secure) {
      const shared: SocketReads = { buffer: place.buffer, callback: onRead };
      const reads = (): SocketReads => {
        const memory = user.newMemory();
        return memory === undefined ? shared : { buffer: () => memory.next(), callback: onRead, memory };
      };
      // A socket below TLS reads into memory of its own.
      server.once('listening', () => acceptInto(server, reads, (socket) => accepted(socket, user)));
    }
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      const listening = (): void => {
        server.off('error', reject);
        server.on('error', (error) => user.onAcceptFailed(error));
        resolve(new NodeListening(server));
      };
      const { host, port, path, ipv6Only, shared, descriptor, backlog } = place;
      if (descriptor !== undefined) listenOn(server, { fd: descriptor }, backlog, listening);
      else if (path !== undefined) server.listen({ path }, listening);
      else listenOn(server, bindTcp({ host, port, ipv6Only }, shared), backlog, listening);
    });
  }

  get descriptor(): number | undefined {
    return this.#handle?.fd;
  }

  get handle(): unknown {
    return this.#handle;
  }

  limitQueue(backlog: number): void {
    this.#handle?.listen?.(backlog);
  }

  close(): void {
    this.server.close();
  }

  get #handle(): ServerInside['_handle'] {
    return (this.server as ServerInside)._handle;
  }
}

function accepted(socket: Connection & net.Socket, user: ListeningUser): void {
  attach(socket);
  user.onAccepted(socket);
}
