import type { DatagramEnds, DatagramOptions, DatagramReceiver, Datagrams, DatagramSource } from '../datagrams.js';
import { addressBytes, type SocketAddress } from './addresses.js';
import { callError, SocketKind, SocketOption } from './calls.js';
import { MOST_RECEIVED, type DatagramCalls } from './datagram-calls.js';
import { Errno } from './errno.js';
import { Level } from './levels.js';
import { Ready, type DescriptorOwner, type EpollLoop } from './loop.js';
import { PacketInfo, sourceMessage } from './packet-info.js';
import { SocketFamily } from './socket-family.js';

/** Most calls of one turn: then other sockets have theirs. */
const MOST_CALLS = 2;
/** IPV6_V6ONLY (ipv6(7)). */
const IPV6_ONLY = 26;

/** A socket for datagrams by system calls. A datagram that the system has no room for is dropped, and counted. */
export class EpollDatagrams implements Datagrams, DescriptorOwner {
  dropped = 0;
  /** Nothing of it is read ahead. */
  readonly ahead = undefined;
  #descriptor: number;
  readonly #isVersion6: boolean;
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
    return this.isOpen && this.sent(this.loop.calls.datagrams.send(this.#descriptor, bytes));
  }

  sendTo(bytes: Buffer, ends: DatagramEnds): boolean {
    if (!this.isOpen) return false;
    const encoded = (ends.encoded ??= this.#encode(ends));
    if (encoded === undefined) return this.sent(-Errno.InvalidArgument);
    if (this.loop.outbox.add(this, bytes, encoded.name, encoded.source)) return true;
    return this.sent(this.loop.calls.datagrams.sendTo(this.#descriptor, bytes, encoded.name, encoded.source));
  }

  close(): void {
    if (!this.isOpen) return;
    const { loop } = this;
    loop.outbox.leave(this);
    // Another program may have the same socket: its events would go on.
    loop.remove(this.#descriptor, false);
    loop.open.delete(this.#descriptor);
    loop.calls.close(this.#descriptor);
    this.#descriptor = -1;
  }

  onReady(): void {
    const { datagrams } = this.loop.calls;
    for (let calls = 0; calls < MOST_CALLS && this.isOpen; calls++) {
      const count = datagrams.receive(this.#descriptor);
      if (count < 0) {
        if (count === -Errno.Again) return;
        if (count !== -Errno.Interrupted) this.report(callError(count, 'recvmsg'));
        continue;
      }
      for (let index = 0; index < count && this.isOpen; index++)
        this.receiver.onDatagram(datagrams.bytes(index), new ReceivedSource(datagrams, index));
      if (count < MOST_RECEIVED) return;
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

  #encode({ address, port, to }: DatagramEnds): DatagramEnds['encoded'] {
    const name = addressBytes(address, port);
    return name && { name, source: to === undefined ? undefined : sourceMessage(to, this.#isVersion6) };
  }

  /** @param result of a call */
  sent(result: number): boolean {
    if (result >= 0) return true;
    if (result === -Errno.Again || result === -Errno.NoBuffers) {
      this.dropped++;
      this.receiver.onDropped?.(callError(result, 'sendmsg'));
    } else process.nextTick(report, this, callError(result, 'send'));
    return false;
  }
}

/** Reads what is asked for: the address of a client is of interest when its first datagram comes. */
class ReceivedSource implements DatagramSource {
  constructor(
    private readonly calls: DatagramCalls,
    private readonly index: number,
  ) {}

  get sender(): string {
    return this.calls.senderText(this.index);
  }
  get address(): string {
    return this.calls.sender(this.index).address ?? '';
  }
  get port(): number {
    return this.calls.sender(this.index).port;
  }
  get to(): string | undefined {
    return this.calls.destination(this.index);
  }
}

/** Errors come after the call, as with sockets of Node.js. */
function report(socket: EpollDatagrams, error: NodeJS.ErrnoException): void {
  socket.report(error);
}
