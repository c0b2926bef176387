import type * as Ffi from 'node:ffi';
import type { Duplex } from 'node:stream';
import type { Log } from '../../../contract/log.js';
import type { Clock } from '../../clock.js';
import type { ReadMemory } from '../../read-memory.js';
import type { Connection, ConnectingUser } from '../connection.js';
import { ConnectionStream } from '../connection-stream.js';
import { rejectedConnection } from '../node/socket-events.js';
import type { DatagramOptions, DatagramReceiver, Datagrams } from '../datagrams.js';
import type { OpenDescriptors } from '../open-descriptors.js';
import type { ListenPlace, ListeningSocket, ListeningUser } from '../listening.js';
import type { TlsConnectingUser } from '../tls.js';
import type { TlsContext } from '../tls-context.js';
import type { Target, Transport } from '../transport.js';
import { addressBytes, pathBytes } from './addresses.js';
import { callError, SocketKind, SystemCalls, TcpOption } from './calls.js';
import { Errno } from './errno.js';
import { Level } from './levels.js';
import { EpollConnection } from './epoll-connection.js';
import { EpollDatagrams } from './epoll-datagrams.js';
import { EpollListening } from './epoll-listening.js';
import type { FileCalls } from './file-calls.js';
import { foreignFunctions } from './foreign-functions.js';
import { SocketFamily } from './socket-family.js';
import { EpollLoop } from './loop.js';
import { TlsEngine } from './openssl/engine.js';
import { testTls } from './openssl/self-test.js';
import { TlsBeginning } from './tls-beginning.js';

/** Over the system's own calls, by `node:ffi`, without the streams of Node.js. */
export class EpollTransport implements Transport {
  readonly name = 'epoll';
  readonly files: FileCalls | undefined;

  /** TLS was tried. */
  #isTried = false;

  private constructor(
    private readonly ffi: typeof Ffi,
    private readonly loop: EpollLoop,
    /** For connections that this one does not make. */
    private readonly other: Transport,
    private readonly log: Log | undefined,
  ) {
    const { files } = loop.calls;
    if (files.works) this.files = files;
  }

  /** @returns why it cannot be used, for the log */
  static open(other: Transport, open: OpenDescriptors, log?: Log, clock?: Clock): EpollTransport | string {
    const ffi = foreignFunctions();
    if (typeof ffi === 'string') return ffi;
    try {
      return new EpollTransport(ffi, new EpollLoop(new SystemCalls(ffi), open, clock), other, log);
    } catch (error) {
      return (error as Error).message;
    }
  }

  get usesRing(): boolean {
    return this.loop.usesRing;
  }

  /** Makes calls together from now on, where the system can, or not any more. */
  useRing(wanted: boolean): void {
    this.loop.useRing(wanted);
  }

  get staleEvents(): number {
    return this.loop.stale;
  }

  async listen(place: ListenPlace, user: ListeningUser): Promise<ListeningSocket> {
    if (place.secure && !this.#canSecure()) return this.other.listen(place, user);
    return EpollListening.open(this.loop, place, user);
  }

  /** TLS is tried when it is first needed: most of what it costs is memory. */
  #canSecure(): boolean {
    if (this.#isTried) return this.loop.tls !== undefined;
    this.#isTried = true;
    try {
      const engine = new TlsEngine(this.ffi, this.loop.calls, this.loop.open.tls);
      testTls(engine);
      this.loop.tls = engine;
      return true;
    } catch (error) {
      this.log?.write('warn', `OpenSSL's own functions cannot be used (${(error as Error).message}): TLS uses the sockets of Node.js`);
      return false;
    }
  }

  closeFile(descriptor: number): void {
    const { collecting, open, calls } = this.loop;
    if (collecting !== undefined) collecting.close(descriptor);
    else {
      open.delete(descriptor);
      calls.close(descriptor);
    }
  }

  readCached(file: number, into: Buffer, from: number): number | undefined {
    const count = this.loop.calls.files.readCached(file, into, from);
    return count === -Errno.Again ? undefined : Math.max(count, 0);
  }

  isCached(file: number, from: number, count: number): boolean {
    const { files } = this.loop.calls;
    return files.probeCached(file, from) === 1 && files.probeCached(file, from + count - 1) === 1;
  }

  datagrams(address: string, receiver: DatagramReceiver, options?: DatagramOptions): Datagrams {
    return new EpollDatagrams(this.loop, address, receiver, options);
  }

  prepareTls(context: TlsContext): void {
    if (this.#canSecure()) this.loop.tls?.contextOf(context);
    else this.other.prepareTls(context);
  }

  connectStream(target: Target, memory: ReadMemory): Duplex {
    const stream = new ConnectionStream();
    return stream.use(this.connect(target, memory, stream));
  }

  connectTls(target: Target, memory: ReadMemory, user: TlsConnectingUser): Connection {
    if (endsOf(target) === undefined || !this.#canSecure()) return this.other.connectTls(target, memory, user);
    return TlsBeginning.of(user, (beginning) => this.connect(target, memory, beginning));
  }

  connect(target: Target, memory: ReadMemory, user: ConnectingUser): Connection {
    const { calls } = this.loop;
    const ends = endsOf(target);
    if (ends === undefined) return this.other.connect(target, memory, user);
    const { address, source } = ends;
    const isUnix = 'path' in target;
    const place = isUnix ? { address: target.path } : { address: target.host, port: target.port };
    const family = isUnix ? SocketFamily.Unix : address.length === 16 ? SocketFamily.IPv4 : SocketFamily.IPv6;
    const descriptor = calls.openSocket(family, SocketKind.Stream);
    if (descriptor < 0) return rejectedConnection(callError(descriptor, 'connect', place), user);
    if (!isUnix) calls.setOption(descriptor, Level.Tcp, TcpOption.NoDelay, 1);
    const bound = source === undefined ? 0 : calls.bind(descriptor, source, !isUnix && target.localPort !== undefined);
    const error = bound < 0 ? bound : calls.connect(descriptor, address);
    if (error < 0 && error !== -Errno.InProgress) {
      calls.close(descriptor);
      const own = isUnix ? place : { address: target.localAddress ?? '' };
      return rejectedConnection(bound < 0 ? callError(bound, 'bind', own) : callError(error, 'connect', place), user);
    }
    const connection = new EpollConnection(this.loop, descriptor, memory, undefined, undefined, place);
    connection.client = user;
    return connection;
  }
}

/** Both ends of a connection in the form of the system; without a source it is the system that chooses. Undefined: Node.js has to connect. */
function endsOf(target: Target): { readonly address: Buffer; readonly source: Buffer | undefined } | undefined {
  const isUnix = 'path' in target;
  const address = isUnix ? pathBytes(target.path) : addressBytes(target.host, target.port);
  const hasSource = !isUnix && target.localAddress !== undefined;
  const source = hasSource ? addressBytes(target.localAddress, target.localPort ?? 0) : undefined;
  return address === undefined || (hasSource && source === undefined) ? undefined : { address, source };
}
