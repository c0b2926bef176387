import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { systemErrorText } from '../../core/contract/system-error.js';
import { timedOut, type CheckFailure, type Probe, type Prober } from './probe.js';
import { matches, type DataExchange } from './tcp-probe.js';

/** Data sent without `send`. */
const DEFAULT_DATA = Buffer.from('srv health check');

/** Checks members with one datagram each. Without something to wait for, a member fails that is reported to be unreachable. */
export function udpProber(exchange: DataExchange): Prober {
  return (address, done) => new UdpProbe(address, exchange, done);
}

class UdpProbe implements Probe {
  readonly #socket: Socket;
  #step = 'sending to upstream';
  #isOver = false;

  constructor(
    address: Parameters<Prober>[0],
    private readonly exchange: DataExchange,
    private readonly done: Parameters<Prober>[1],
  ) {
    const isV6 = 'host' in address && isIPv6(address.host);
    this.#socket = createSocket(isV6 ? 'udp6' : 'udp4');
    this.#socket.on('error', (error) => this.#finish({ reason: `recv() failed (${systemErrorText(error)})`, step: this.#step }));
    this.#socket.on('message', (data) => this.#received(data));
    if ('path' in address) process.nextTick(() => this.#finish({ reason: 'a unix socket has no UDP', step: this.#step }));
    else this.#socket.connect(address.port, address.host, () => this.#send());
  }

  expire(): CheckFailure | undefined {
    this.cancel();
    return this.exchange.expect === undefined ? undefined : timedOut(this.#step);
  }

  cancel(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#socket.close();
  }

  #send(): void {
    if (this.#isOver) return;
    this.#step = 'reading from upstream';
    this.#socket.send(this.exchange.send ?? DEFAULT_DATA);
  }

  #received(data: Buffer): void {
    const { expect } = this.exchange;
    const isPassed = expect === undefined || matches(expect, data.latin1Slice()) === true;
    this.#finish(isPassed ? undefined : { reason: 'response does not match', step: 'checking response' });
  }

  #finish(failure: CheckFailure | undefined): void {
    if (this.#isOver) return;
    this.cancel();
    this.done(failure);
  }
}
