import { CheckConnection, type ConnectionOptions } from './connection.js';
import type { CheckFailure, Prober } from './probe.js';
import { ResponseReader } from './response-reader.js';
import { passesHeader, passesStatus, type BodyRule, type HeaderRule, type StatusRule } from './rules.js';

/** Rules for a response. */
export interface ResponseRules {
  readonly status: StatusRule;
  readonly headers: readonly HeaderRule[];
  readonly body: BodyRule | undefined;
}

export interface HttpProbeOptions extends ConnectionOptions {
  readonly uri: string;
  /** The Host field. */
  readonly host: string;
  readonly rules: ResponseRules;
}

/** Checks members with one request each, over a connection of its own: a server that accepts no more connections does not pass. */
export function httpProber({ uri, host, ...options }: HttpProbeOptions): Prober {
  const request = `GET ${uri} HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: srv (health check)\r\nAccept: */*\r\nConnection: close\r\n\r\n`;
  return (address, done) => new HttpProbe(address, { ...options, request: Buffer.from(request).latin1Slice() }, done);
}

interface Exchange extends ConnectionOptions {
  readonly request: string;
  readonly rules: ResponseRules;
}

class HttpProbe extends CheckConnection {
  readonly #exchange: Exchange;
  readonly #response: ResponseReader;

  constructor(address: Parameters<Prober>[0], exchange: Exchange, done: Parameters<Prober>[1]) {
    super(address, exchange, done);
    this.#exchange = exchange;
    this.#response = new ResponseReader(exchange.rules.body !== undefined);
  }

  protected opened(): void {
    this.write(this.#exchange.request);
    this.step = 'reading response header from upstream';
  }

  protected read(chunk: Buffer): void {
    const progress = this.#response.read(chunk);
    if (progress === 'malformed') this.finish({ reason: 'invalid response', step: this.step });
    else if (progress === 'complete') this.finish(failureOf(this.#response, this.#exchange.rules));
    else if (this.#response.status >= 200) this.step = 'reading response body from upstream';
  }

  protected ended(): void {
    if (this.#response.isCompleteAtEnd) this.finish(failureOf(this.#response, this.#exchange.rules));
    else this.finish({ reason: 'connection closed before the end of the response', step: this.step });
  }
}

function failureOf(response: ResponseReader, { status, headers, body }: ResponseRules): CheckFailure | undefined {
  if (!passesStatus(status, response.status)) return { reason: `status ${response.status}`, step: 'checking status code' };
  const header = headers.find((rule) => !passesHeader(rule, response.fields(rule.field)));
  if (header !== undefined) return { reason: `field "${header.field}" does not match`, step: 'checking header' };
  if (body !== undefined && body.pattern.test(response.body) === body.isNegated)
    return { reason: 'body does not match', step: 'checking body' };
  return undefined;
}
