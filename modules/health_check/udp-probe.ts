import type { DatagramSocket, DatagramUser, SocketError } from '../../core/contract/sockets.js';
import { connectionFailure, type ConnectionMeans } from './connection.js';
import { timedOut, type CheckFailure, type Probe, type Prober } from './probe.js';
import { matches, type DataExchange } from './tcp-probe.js';

/** Data sent without `send`. */
const DEFAULT_DATA = Buffer.from('srv health check');

/** Checks members with one datagram each. Without something to wait for, a member fails that is reported to be unreachable. */
export function udpProber(exchange: DataExchange & ConnectionMeans): Prober {
  return (address, done) => new UdpProbe(address, exchange, done);
}

class UdpProbe implements Probe, DatagramUser {
  /** Undefined: the address is that of a unix socket. */
  readonly #socket: DatagramSocket | undefined;
  readonly #step = 'reading from upstream';
  #isOver = false;

  constructor(
    address: Parameters<Prober>[0],
    private readonly exchange: DataExchange & ConnectionMeans,
    private readonly done: Parameters<Prober>[1],
  ) {
    if ('path' in address) {
      process.nextTick(() => this.#finish({ reason: 'a unix socket has no UDP', step: 'sending to upstream' }));
      return;
    }
    this.#socket = exchange.sockets.datagrams(address, this);
    this.#socket.send(exchange.send ?? DEFAULT_DATA);
  }

  expire(): CheckFailure | undefined {
    this.cancel();
    return this.exchange.expect === undefined ? undefined : timedOut(this.#step);
  }

  cancel(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#socket?.close();
  }

  onDatagram(data: Buffer): void {
    const { expect } = this.exchange;
    const isPassed = expect === undefined || matches(expect, data.latin1Slice()) === true;
    this.#finish(isPassed ? undefined : { reason: 'response does not match', step: 'checking response' });
  }

  onFailed(failure: SocketError): void {
    this.#finish(connectionFailure(failure, this.#step));
  }

  #finish(failure: CheckFailure | undefined): void {
    if (this.#isOver) return;
    this.cancel();
    this.done(failure);
  }
}
