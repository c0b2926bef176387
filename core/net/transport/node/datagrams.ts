import dgram, { type RemoteInfo, type Socket, type SocketOptions } from 'node:dgram';
import type { LookupOneOptions } from 'node:dns';
import { isIPv6 } from 'node:net';
import type { DatagramEnds, DatagramOptions, DatagramReceiver, Datagrams } from '../datagrams.js';
import { datagramHandle } from './datagram-handle.js';

/** Bytes that may wait in one socket for the system to accept them. More is dropped, as the system does with a queue that is full. */
const MAX_WAITING = 1_048_576;

/** A socket that knows its receiver: the handlers are shared by all sockets. */
interface ReceivingSocket extends Socket {
  receiver?: DatagramReceiver;
}

/** Over node:dgram, which sends later: what is given to it is copied. */
export class NodeDatagrams implements Datagrams {
  dropped = 0;
  #socket: ReceivingSocket | undefined;
  #isConnected = false;
  readonly #sent: (error: Error | null) => void;

  constructor(address: string, receiver: DatagramReceiver, options: DatagramOptions = {}) {
    const { reusePort = false, ipv6Only = false, receiveBuffer, sendBuffer } = options;
    const isVersion6 = isIPv6(address);
    // With ipv6Only the system rejects IPv4 addresses.
    const settings: SocketOptions = { type: isVersion6 ? 'udp6' : 'udp4', lookup: asWritten, reusePort, ipv6Only: ipv6Only && isVersion6 };
    if (receiveBuffer !== undefined) settings.recvBufferSize = receiveBuffer;
    if (sendBuffer !== undefined) settings.sendBufferSize = sendBuffer;
    const socket: ReceivingSocket = dgram.createSocket(settings);
    socket.receiver = receiver;
    socket.on('message', onMessage);
    socket.on('error', onError);
    this.#socket = socket;
    this.#sent = (error) => {
      if (error !== null && this.#socket !== undefined) receiver.onSocketError(error);
    };
  }

  get isOpen(): boolean {
    return this.#socket !== undefined;
  }

  get descriptor(): number | undefined {
    return this.#socket && datagramHandle(this.#socket)?.fd;
  }

  get port(): number {
    return this.#socket?.address().port ?? 0;
  }

  get address(): string | undefined {
    return this.#socket?.address().address;
  }

  bind(address: string, port: number): void {
    this.#begin((socket) => socket.bind({ address, port, exclusive: true }));
  }

  adopt(descriptor: number): void {
    this.#begin((socket) => socket.bind({ fd: descriptor, exclusive: true }));
  }

  #begin(bind: (socket: Socket) => void): void {
    const socket = this.#socket;
    if (socket === undefined) return;
    let failure: Error | undefined;
    const fail = (error: Error): void => void (failure = error);
    // The address is numeric: an error is emitted within the call.
    socket.off('error', onError);
    socket.on('error', fail);
    bind(socket);
    socket.off('error', fail);
    socket.on('error', onError);
    if (failure !== undefined) throw failure;
  }

  connect(address: string, port: number): boolean {
    const socket = this.#socket;
    if (socket === undefined) return false;
    socket.connect(port, address);
    try {
      socket.remoteAddress();
      return (this.#isConnected = true);
    } catch {
      return false;
    }
  }

  send(bytes: Buffer): boolean {
    const socket = this.#sendable();
    if (socket === undefined || !this.#isConnected) return false;
    socket.send(Buffer.from(bytes), this.#sent);
    return true;
  }

  sendTo(bytes: Buffer, { address, port }: DatagramEnds): boolean {
    const socket = this.#sendable();
    if (socket === undefined) return false;
    socket.send(Buffer.from(bytes), port, address);
    return true;
  }

  unref(): void {
    this.#socket?.unref();
  }

  close(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.off('message', onMessage);
    socket?.close();
  }

  #sendable(): Socket | undefined {
    const socket = this.#socket;
    if (socket === undefined || socket.getSendQueueSize() < MAX_WAITING) return socket;
    this.dropped++;
    return undefined;
  }
}

function onMessage(this: ReceivingSocket, bytes: Buffer, { address, port }: RemoteInfo): void {
  this.receiver?.onDatagram(bytes, { sender: `${address} ${port}`, address, port, to: undefined });
}

function onError(this: ReceivingSocket, error: Error): void {
  this.receiver?.onSocketError(error);
}

/** Stands in for the look-up of a name, which would put off everything to a later turn. */
function asWritten(
  address: string,
  _: LookupOneOptions,
  found: (error: NodeJS.ErrnoException | null, address: string, family: number) => void,
): void {
  found(null, address, 0);
}
