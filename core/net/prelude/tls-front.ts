import type { Socket } from 'node:net';
import type { Server } from 'node:tls';

/** First byte of a TLS handshake (RFC 8446, 5.1), and the bit by which SSLv2 began. */
const HANDSHAKE = 0x16;
const SSL2_BIT = 0x80;

interface FrontSocket extends Socket {
  front?: TlsFront;
}

/**
 * Looks at the first byte of each connection to a TLS port: plain HTTP gets an answer there, and not a failed handshake. The handlers are
 * shared by all sockets.
 */
export class TlsFront {
  /**
   * @param server never listens itself: what begins a handshake is given to it
   * @param timeout milliseconds for the first byte
   * @param onPlain the client speaks, and not TLS
   * @param onGone it has said nothing; the socket is closed
   */
  constructor(
    private readonly server: Server,
    private readonly timeout: number,
    private readonly onPlain: (socket: Socket, first: Buffer) => void,
    private readonly onGone: (socket: Socket) => void,
  ) {}

  accept(socket: FrontSocket): void {
    socket.front = this;
    socket.once('data', onFirst);
    socket.on('end', onGone);
    socket.on('error', onGone);
    socket.on('timeout', onGone);
    socket.setTimeout(this.timeout);
  }

  began(socket: Socket, first: Buffer): void {
    release(socket);
    const byte = first[0] as number;
    if (byte !== HANDSHAKE && (byte & SSL2_BIT) === 0) {
      this.onPlain(socket, first);
      return;
    }
    // The handshake reads it again.
    socket.pause();
    socket.unshift(first);
    this.server.emit('connection', socket);
  }

  gone(socket: Socket): void {
    release(socket);
    // An error may still follow.
    socket.on('error', ignore);
    this.onGone(socket);
    socket.destroy();
  }
}

function release(socket: Socket): void {
  socket.off('data', onFirst);
  socket.off('end', onGone);
  socket.off('error', onGone);
  socket.off('timeout', onGone);
  socket.setTimeout(0);
}

function onFirst(this: FrontSocket, first: Buffer): void {
  this.front?.began(this, first);
}
function onGone(this: FrontSocket): void {
  this.front?.gone(this);
}
function ignore(): void {}
