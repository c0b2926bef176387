import type { Server, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Connection, ConnectionUser } from '../../connection.js';
import type { SecuringUser, ServerHandshake } from '../../tls.js';
import { attach, detach } from '../socket-events.js';
import { AgreedTls } from './agreed-tls.js';
import { logKeys } from './key-log.js';
import { nodeTls } from './node-tls.js';
import { NodeOtherSide } from './other-side.js';

/** Puts TLS of Node.js on an accepted socket. @throws Error of OpenSSL for certificates, keys and ciphers that cannot be used */
export function acceptTls(
  raw: Socket,
  { context, received, protocols, offered, session }: ServerHandshake,
  user: SecuringUser,
): Connection {
  const { secure: secureContext, sessions: keeper, options } = context.node;
  const { clientAuthority, keyLog, verifyDepth = Infinity, recordSize } = options;
  detach(raw);
  raw.pause();
  // The handshake reads it again.
  raw.unshift(received);
  const sessions = keeper?.forConnection(session);
  const socket: Connection & TLSSocket = new (nodeTls().TLSSocket)(raw, {
    isServer: true,
    secureContext,
    ALPNProtocols: protocols,
    requestCert: clientAuthority !== undefined,
    rejectUnauthorized: false,
    // All that is asked of a server here is to emit the events of sessions.
    ...(sessions === undefined ? {} : { server: sessions.events as Server }),
  });
  if (recordSize !== undefined) socket.setMaxSendFragment(recordSize);
  const handshake = new Handshake(user);
  socket.client = handshake;
  attach(socket);
  if (keyLog !== undefined) logKeys(socket, keyLog);
  socket.once('error', (error) => (handshake.failure ||= error.message.trim()));
  socket.once('secure', () => {
    // An error of TLS ends the connection also from now on, see TLSSocket in Node's lib/_tls_wrap.js.
    socket.on('_tlsError', (error: Error) => socket.destroy(error));
    const other = new NodeOtherSide(socket, verifyDepth);
    sessions?.onHandshake(clientAuthority === undefined || other.certificate()?.error === undefined);
    // The session has ended meanwhile.
    if (socket.client !== handshake) return;
    socket.client = user;
    user.onSecured(new AgreedTls(socket, offered), other);
  });
  return socket;
}

/** A handshake under way. Its end is that of the handshake. */
class Handshake implements ConnectionUser {
  failure = '';

  constructor(private readonly user: SecuringUser) {}

  onData(): void {}
  onDrain(): void {}
  onEnd(): void {
    this.user.onNotSecured(this.failure);
  }
  onClose(): void {
    this.user.onNotSecured(this.failure);
  }
}
