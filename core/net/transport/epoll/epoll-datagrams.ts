import type { DatagramOptions, DatagramReceiver, Datagrams } from '../datagrams.js';
import { addressBytes, type SocketAddress } from './addresses.js';
import { callError, Errno, SocketKind, SocketOption } from './calls.js';
import { Level } from './levels.js';
import { Ready, type DescriptorOwner, type EpollLoop } from './loop.js';
import { PacketInfo, sourceMessage } from './packet-info.js';
import { SocketFamily } from './socket-family.js';

/** Most datagrams that are read at once: then other sockets have their turn. */
const MOST = 64;
/** IPV6_V6ONLY (ipv6(7)). */
const IPV6_ONLY = 26;

/** A socket for datagrams by system calls. A datagram that the system has no room for is dropped, and counted. */
export class EpollDatagrams implements Datagrams, DescriptorOwner {
  dropped = 0;
  #descriptor: number;
  readonly #isVersion6: boolean;
  /** Where the last datagram went to, in the form of the system. */
  #lastAddress = '';
  #lastPort = -1;
  #lastBytes: Buffer = Buffer.alloc(0);
  /** Where the last one came from, also as a control message. */
  #lastFrom: string | undefined = undefined;
  #lastSource: Buffer | undefined = undefined;

  /**
   * @param family of the addresses: any of them
   * @throws Error of the system: EMFILE …
   */
  constructor(
    private readonly loop: EpollLoop,
    family: string,
    private readonly receiver: DatagramReceiver,
    private readonly options: DatagramOptions = {},
  ) {
    this.#isVersion6 = family.includes(':');
    this.#descriptor = loop.calls.openSocket(this.#isVersion6 ? SocketFamily.IPv6 : SocketFamily.IPv4, SocketKind.Datagrams);
    if (this.#descriptor < 0) throw callError(this.#descriptor, 'socket');
    loop.open.add(this.#descriptor);
  }

  get isOpen(): boolean {
    return this.#descriptor >= 0;
  }
  get descriptor(): number | undefined {
    return this.isOpen ? this.#descriptor : undefined;
  }
  get port(): number {
    return this.#local?.port ?? 0;
  }
  get address(): string | undefined {
    return this.#local?.address;
  }

  bind(address: string, port: number): void {
    const { calls } = this.loop;
    const { reusePort = false, ipv6Only = false } = this.options;
    if (reusePort) calls.setOption(this.#descriptor, Level.Socket, SocketOption.ReusePort, 1);
    if (this.#isVersion6 && ipv6Only) calls.setOption(this.#descriptor, Level.Ipv6, IPV6_ONLY, 1);
    const bytes = addressBytes(address, port);
    const error = bytes === undefined ? -Errno.InvalidArgument : calls.bind(this.#descriptor, bytes, true);
    if (error < 0) throw callError(error, 'bind', { address, port });
    this.#watch();
  }

  adopt(descriptor: number): void {
    const { calls, open } = this.loop;
    open.delete(this.#descriptor);
    calls.close(this.#descriptor);
    this.#descriptor = descriptor;
    open.add(descriptor);
    calls.unblock(descriptor);
    this.#watch();
  }

  connect(address: string, port: number): boolean {
    const bytes = addressBytes(address, port);
    const error = bytes === undefined ? -Errno.InvalidArgument : this.loop.calls.connect(this.#descriptor, bytes);
    if (error < 0) process.nextTick(report, this, callError(error, 'connect', { address, port }));
    return error >= 0;
  }

  send(bytes: Buffer): boolean {
    if (!this.isOpen) return false;
    return this.#sent(this.loop.calls.sendDatagram(this.#descriptor, bytes, undefined, undefined));
  }

  sendTo(bytes: Buffer, address: string, port: number, from?: string): boolean {
    if (!this.isOpen) return false;
    if (address !== this.#lastAddress || port !== this.#lastPort) {
      const to = addressBytes(address, port);
      if (to === undefined) return this.#sent(-Errno.InvalidArgument);
      this.#lastAddress = address;
      this.#lastPort = port;
      this.#lastBytes = to;
    }
    if (from !== this.#lastFrom) {
      this.#lastFrom = from;
      this.#lastSource = from === undefined ? undefined : sourceMessage(from, this.#isVersion6);
    }
    return this.#sent(this.loop.calls.sendDatagram(this.#descriptor, bytes, this.#lastBytes, this.#lastSource));
  }

  close(): void {
    if (!this.isOpen) return;
    const { loop } = this;
    // Another program may have the same socket: its events would go on.
    loop.remove(this.#descriptor, false);
    loop.open.delete(this.#descriptor);
    loop.calls.close(this.#descriptor);
    this.#descriptor = -1;
  }

  onReady(): void {
    const { calls } = this.loop;
    for (let count = 0; count < MOST && this.isOpen; count++) {
      const length = calls.receiveDatagram(this.#descriptor);
      if (length < 0) {
        if (length === -Errno.Again) return;
        if (length !== -Errno.Interrupted) this.report(callError(length, 'recvmsg'));
        continue;
      }
      const { address = '', port } = calls.peer;
      this.receiver.onDatagram(Buffer.from(calls.joined.subarray(0, length)), address, port, calls.destination);
    }
  }

  report(error: NodeJS.ErrnoException): void {
    if (this.isOpen) this.receiver.onSocketError(error);
  }

  get #local(): SocketAddress | undefined {
    return this.isOpen ? this.loop.calls.localAddress(this.#descriptor) : undefined;
  }

  #watch(): void {
    const { calls } = this.loop;
    const { receiveBuffer, sendBuffer, reportsDestination = false } = this.options;
    if (reportsDestination && this.#isVersion6) calls.setOption(this.#descriptor, Level.Ipv6, PacketInfo.AskIpv6, 1);
    else if (reportsDestination) calls.setOption(this.#descriptor, Level.Ip, PacketInfo.Ip, 1);
    if (receiveBuffer !== undefined) calls.setOption(this.#descriptor, Level.Socket, SocketOption.ReceiveBuffer, receiveBuffer);
    if (sendBuffer !== undefined) calls.setOption(this.#descriptor, Level.Socket, SocketOption.SendBuffer, sendBuffer);
    const error = this.loop.add(this.#descriptor, this, Ready.Read);
    if (error < 0) throw callError(error, 'epoll_ctl');
  }

  #sent(result: number): boolean {
    if (result >= 0) return true;
    if (result === -Errno.Again || result === -Errno.NoBuffers) this.dropped++;
    else process.nextTick(report, this, callError(result, 'send'));
    return false;
  }
}

/** Errors come after the call, as with sockets of Node.js. */
function report(socket: EpollDatagrams, error: NodeJS.ErrnoException): void {
  socket.report(error);
}
