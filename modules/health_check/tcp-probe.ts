import { CheckConnection, type ConnectionOptions } from './connection.js';
import type { Prober } from './probe.js';

/** Part of a response that is compared. Bytes. */
const MAX_DATA = 64 * 1024;

/** Data sent to a member, and its expected response. */
export interface DataExchange {
  readonly send: Buffer | undefined;
  /** Bytes that the data begins with, or what it matches as a string of bytes. Undefined: nothing is waited for. */
  readonly expect: Buffer | RegExp | undefined;
}

/** Checks members with one connection each. */
export function tcpProber(exchange: DataExchange & ConnectionOptions): Prober {
  return (address, done) => new TcpProbe(address, exchange, done);
}

class TcpProbe extends CheckConnection {
  readonly #exchange: DataExchange;
  #data = '';

  constructor(address: Parameters<Prober>[0], exchange: DataExchange & ConnectionOptions, done: Parameters<Prober>[1]) {
    super(address, exchange, done);
    this.#exchange = exchange;
  }

  protected opened(): void {
    const { send, expect } = this.#exchange;
    const passed = (): void => this.finish(undefined);
    if (send !== undefined) this.write(send, expect === undefined ? passed : undefined);
    else if (expect === undefined) passed();
    this.step = 'reading from upstream';
  }

  protected read(chunk: Buffer): void {
    this.#data += chunk.latin1Slice();
    const { expect } = this.#exchange;
    const matched = expect === undefined ? true : matches(expect, this.#data);
    if (matched === true) this.finish(undefined);
    else if (matched === false || this.#data.length >= MAX_DATA)
      this.finish({ reason: 'response does not match', step: 'checking response' });
  }

  protected ended(): void {
    const isEmpty = this.#data === '';
    this.finish(
      isEmpty ? { reason: 'connection closed', step: this.step } : { reason: 'response does not match', step: 'checking response' },
    );
  }
}

/** Undefined: more of the data may decide. */
export function matches(expect: Buffer | RegExp, data: string): boolean | undefined {
  if (expect instanceof RegExp) return expect.test(data) || undefined;
  const text = expect.latin1Slice();
  if (data.length < text.length) return text.startsWith(data) ? undefined : false;
  return data.startsWith(text);
}
