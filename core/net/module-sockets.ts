import type { Address } from '../contract/address.js';
import type { ConnectionTls } from '../contract/client-connection.js';
import {
  SocketError,
  Sockets,
  type DatagramSocket,
  type DatagramUser,
  type ModuleSocket,
  type SocketStream,
  type SocketTls,
  type SocketUser,
} from '../contract/sockets.js';
import { systemErrorText } from '../contract/system-error.js';
import type { UpstreamTls } from '../contract/upstream-tls.js';
import type { ControlListeners } from './control-listeners.js';
import type { Dialer } from './dialer.js';
import { handshakeFailure, TlsClient } from './tls-client.js';
import type { Connection } from './transport/connection.js';
import { ConnectionStream } from './transport/connection-stream.js';
import type { DatagramReceiver, Datagrams } from './transport/datagrams.js';
import type { ClientHandshake, OtherSide, TlsConnectingUser } from './transport/tls.js';
import { rejectedConnection, type Target } from './transport/transport.js';

/** Descriptors, ports and memory that this machine has not enough of. */
const SHORTAGES = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL', 'EAGAIN']);

/** Functions of libuv that the C library has. */
const DATAGRAM_CALLS: Readonly<Record<string, string>> = { send: 'send()', connect: 'connect()' };

/** The {@link Sockets} service of one thread. */
export class DialedSockets extends Sockets {
  readonly #clients = new WeakMap<UpstreamTls, TlsClient>();

  constructor(
    private readonly dialer: Dialer,
    private readonly controlListeners: Pick<ControlListeners, 'rejection'>,
  ) {
    super();
  }

  connect(address: Address, user: SocketUser, tls?: SocketTls): ModuleSocket {
    return this.#open(address, new ModuleConnection(user, this.#secured(tls)));
  }

  stream(address: Address, tls?: SocketTls): SocketStream {
    const stream = new ModuleStream();
    stream.use(this.#open(address, new ModuleConnection(stream, this.#secured(tls))));
    return stream;
  }

  datagrams({ host, port }: { readonly host: string; readonly port: number }, user: DatagramUser): DatagramSocket {
    return new ModuleDatagrams(this.dialer, host, port, user);
  }

  #open(address: Address, connection: ModuleConnection): Connection {
    // Addresses have further properties in other places.
    const target: Target = 'path' in address ? { path: address.path } : { host: address.host, port: address.port };
    const rejection = this.controlListeners.rejection(target);
    const open = (): Connection => {
      if (rejection !== undefined) return rejectedConnection(new SocketError('rejected', rejection), connection);
      return connection.isSecure ? this.dialer.connectTls(target, connection) : this.dialer.connect(target, connection);
    };
    return (connection.socket = open());
  }

  #secured(tls: SocketTls | undefined): Secured | undefined {
    if (tls === undefined) return undefined;
    const { settings, name } = tls;
    const known = this.#clients.get(settings);
    const client = known ?? new TlsClient(settings);
    if (known === undefined) this.#clients.set(settings, client);
    return { client, name, peer: tls };
  }
}

interface Secured {
  readonly client: TlsClient;
  readonly name: string;
  /** Its sessions are resumed. */
  readonly peer: object;
}

/** A connection of a module, as the transport sees it. */
class ModuleConnection implements TlsConnectingUser {
  readonly preamble = '';
  socket: Connection | undefined = undefined;
  #failure: SocketError | undefined = undefined;
  #isOpen = false;

  constructor(
    private readonly user: SocketUser,
    /** Undefined: it does not speak TLS. */
    private readonly tls: Secured | undefined,
  ) {}

  get isSecure(): boolean {
    return this.tls !== undefined;
  }

  handshake(): ClientHandshake {
    const { client, peer, name } = this.tls as Secured;
    return client.handshake(peer, name);
  }

  onConnect(): void {
    if (this.tls === undefined) this.#open(undefined);
    else this.user.onReached?.();
  }

  onSecured({ alpn }: ConnectionTls, other: OtherSide): void {
    const problem = this.tls?.client.problemOf(other, this.tls.name);
    if (problem === undefined) this.#open(alpn);
    else this.#fail(new SocketError('certificate', problem));
  }

  onNotSecured(reason: string): void {
    this.#fail(new SocketError('handshake', handshakeFailure(reason)));
  }

  onData(chunk: Buffer): void {
    this.user.onData(chunk);
  }
  onEnd(): void {
    this.user.onEnd();
  }
  onDrain(): void {
    this.user.onDrain?.();
  }
  onError(error: NodeJS.ErrnoException): void {
    this.#fail(failureOf(error, this.#isOpen ? 'recv()' : 'connect()'));
  }
  onClose(): void {
    this.user.onClosed(this.#failure);
  }

  #open(protocol: string | undefined): void {
    this.#isOpen = true;
    this.user.onOpen(protocol);
  }

  #fail(failure: SocketError): void {
    this.#failure ??= failure;
    this.socket?.destroy();
  }
}

/** @param call that it belongs to */
function failureOf(error: NodeJS.ErrnoException, call: string): SocketError {
  if (error instanceof SocketError) return error;
  // TLS after its handshake.
  if (error.syscall === undefined) return new SocketError('handshake', error.message);
  if (SHORTAGES.has(error.code ?? '')) return new SocketError('shortage', `socket() failed (${systemErrorText(error)})`);
  return new SocketError('network', `${call} failed (${systemErrorText(error)})`);
}

/** A connection of a module as a stream. */
class ModuleStream extends ConnectionStream implements SocketStream, SocketUser {
  protocol: string | undefined = undefined;

  onReached(): void {
    this.emit('reached');
  }

  onOpen(protocol: string | undefined): void {
    this.protocol = protocol;
    this.onConnect();
  }

  onClosed(failure: SocketError | undefined): void {
    if (failure !== undefined) this.onError(failure);
    this.onClose();
  }
}

/** A socket for datagrams of a module. */
class ModuleDatagrams implements DatagramSocket, DatagramReceiver {
  /** Undefined: it could not be made. */
  readonly #socket: Datagrams | undefined;
  #isClosed = false;

  constructor(
    dialer: Dialer,
    host: string,
    port: number,
    private readonly user: DatagramUser,
  ) {
    try {
      this.#socket = dialer.datagrams(host, port, this);
    } catch (error) {
      process.nextTick(() => this.onSocketError(error as Error));
    }
  }

  send(bytes: Buffer): boolean {
    return this.#socket?.send(bytes) === true;
  }

  close(): void {
    this.#isClosed = true;
    this.#socket?.close();
  }

  onDatagram(bytes: Buffer): void {
    this.user.onDatagram(bytes);
  }

  onSocketError(error: NodeJS.ErrnoException): void {
    if (!this.#isClosed) this.user.onFailed(failureOf(error, DATAGRAM_CALLS[error.syscall ?? ''] ?? 'recv()'));
  }
}
