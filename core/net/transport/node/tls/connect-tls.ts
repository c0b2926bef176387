import { connect, type Socket } from 'node:net';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import type { ConnectionTls } from '../../../../contract/client-connection.js';
import { systemErrorText } from '../../../../contract/system-error.js';
import type { Connection, ConnectingUser } from '../../connection.js';
import type { TlsConnectingUser } from '../../tls.js';
import type { Target } from '../../transport.js';
import { follow } from '../socket-events.js';
import { logKeys } from './key-log.js';
import { nodeTls } from './node-tls.js';
import { NodeOtherSide } from './other-side.js';

const NO_OFFER = { ciphers: '', groups: '', signatures: '' };

/** Begins to connect with TLS of Node.js. @throws Error of OpenSSL for certificates, keys and ciphers that cannot be used */
export function connectTls(target: Target, user: TlsConnectingUser): Connection {
  const { preamble } = user;
  const handshake = user.handshake();
  const { context, serverName, protocols, session } = handshake;
  const { secure: secureContext, options: settings } = context.node;
  const options: ConnectionOptions & { readonly allowHalfOpen: true } = {
    ...(preamble === '' ? target : { socket: withPreamble(target, preamble) }),
    allowHalfOpen: true,
    secureContext,
    ...(protocols.length > 0 && { ALPNProtocols: protocols }),
    // The user verifies it, when the handshake is over.
    rejectUnauthorized: false,
    checkServerIdentity: () => undefined,
    // An empty name keeps Node from sending another one.
    servername: serverName,
    ...(session !== undefined && { session }),
  };
  const socket = nodeTls().connect(options);
  socket.setNoDelay(true);
  const beginning = new Handshake(socket, user, settings.verifyDepth ?? Infinity, (made) => handshake.onSession(made));
  if (settings.keyLog !== undefined) logKeys(socket, settings.keyLog);
  socket.once('connect', () => beginning.onConnect());
  socket.once('secureConnect', () => beginning.end());
  if (settings.client?.keepsSessions === true) socket.on('session', (made: Buffer) => beginning.keep(made));
  socket.on('data', (chunk: Buffer) => beginning.onData(chunk));
  return follow(socket, beginning);
}

/** A connection that begins with some text. TLS, which is wrapped around it, begins when it is connected as well: after that. */
function withPreamble(target: Target, preamble: string): Socket {
  const socket = connect({ ...target, allowHalfOpen: true, noDelay: true });
  socket.once('connect', () => socket.write(preamble, 'latin1'));
  return socket;
}

/** Events of one connection, until the handshake is over and after it. */
class Handshake implements ConnectingUser {
  #isOver = false;
  #session: Buffer | undefined = undefined;

  constructor(
    private readonly socket: TLSSocket,
    private readonly user: TlsConnectingUser,
    private readonly verifyDepth: number,
    private readonly keepSession: (session: Buffer) => void,
  ) {}

  /** A session is resumed only when the certificate it was made with has been accepted. */
  keep(session: Buffer): void {
    if (!this.#isOver) this.#session = session;
    else if (!this.socket.destroyed) this.keepSession(session);
  }

  end(): void {
    const { socket, user } = this;
    this.#isOver = true;
    user.onSecured(agreedOn(socket), new NodeOtherSide(socket, this.verifyDepth));
    if (this.#session !== undefined && !socket.destroyed) this.keepSession(this.#session);
    this.#session = undefined;
  }

  onConnect(): void {
    this.user.onConnect();
  }
  onData(chunk: Buffer): void {
    this.user.onData(chunk, false);
  }
  onEnd(): void {
    if (this.#isOver) this.user.onEnd();
  }
  onDrain(): void {
    if (this.#isOver) this.user.onDrain();
  }

  onError(error: NodeJS.ErrnoException): void {
    const isReached = !this.socket.connecting && error.syscall !== 'connect' && error.syscall !== 'bind';
    if (this.#isOver || !isReached) this.user.onError(error);
    else {
      this.#isOver = true;
      this.user.onNotSecured(failureOf(error));
    }
  }

  onClose(): void {
    this.#deliverRest();
    this.user.onClose();
  }

  /** Data that was decrypted while reading was paused, and that Node keeps after the connection has failed. */
  #deliverRest(): void {
    const { socket } = this;
    const rest = socket.readableLength === 0 ? null : (socket.read() as Buffer | null);
    if (rest !== null) this.user.onData(rest, false);
  }
}

/** Sessions that a client of Node.js has are in a form of its own: nothing is read out of them. */
function agreedOn(socket: TLSSocket): ConnectionTls {
  return {
    protocol: socket.getProtocol() ?? '',
    cipher: socket.getCipher().name,
    isReused: socket.isSessionReused(),
    isEarly: false,
    alpn: socket.alpnProtocol || undefined,
    sessionId: '',
    group: 0,
    signature: 0,
    clientSignature: 0,
    offered: NO_OFFER,
  };
}

/** For {@link SecuringUser.onNotSecured}. */
function failureOf(error: NodeJS.ErrnoException): string {
  if (error.syscall !== undefined) return systemErrorText(error);
  // Node has no words of OpenSSL for a server that leaves.
  return error.code === 'ECONNRESET' ? '' : `SSL: ${error.message.trim()}`;
}
