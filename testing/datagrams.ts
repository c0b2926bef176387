/** Clients and members over UDP. Texts are bytes (latin1). */
import { createSocket } from 'node:dgram';
import { until } from './connection.js';

/** The socket of a client that is connected to one port, or of a member, which replies to all. */
export class TestDatagrams {
  /** Datagrams received so far. */
  readonly received: string[] = [];
  readonly #socket = createSocket('udp4');

  /** @param reply to each datagram; undefined: none */
  constructor(reply: (text: string) => string | undefined = () => undefined) {
    this.#socket.on('error', () => undefined);
    this.#socket.on('message', (bytes, { port, address }) => {
      const text = bytes.toString('latin1');
      this.received.push(text);
      const answer = reply(text);
      if (answer !== undefined) this.#socket.send(Buffer.from(answer, 'latin1'), port, address);
    });
  }

  get port(): number {
    return this.#socket.address().port;
  }

  /** For a `server` line or `proxy_pass`. */
  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  start(): Promise<void> {
    return new Promise((done) => void this.#socket.bind(0, '127.0.0.1', () => done()));
  }

  /** Sends a datagram to a port of 127.0.0.1. */
  send(port: number, text: string): void {
    this.#socket.send(Buffer.from(text, 'latin1'), port, '127.0.0.1');
  }

  /** Resolves with the first datagram received that has `pattern`. @throws Error after 30 seconds */
  receive(pattern: RegExp): Promise<string> {
    return until(
      () => `a datagram ${String(pattern)}, received: ${JSON.stringify(this.received)}`,
      () => this.received.find((text) => pattern.test(text)),
    );
  }

  /** Closes the socket. */
  stop(): Promise<void> {
    return new Promise((done) => void this.#socket.close(() => done()));
  }

  /** For `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/** Starts a member over UDP; without `reply` it sends everything back. */
export async function startUdpMember(reply: (text: string) => string | undefined = (text) => text): Promise<TestDatagrams> {
  const member = new TestDatagrams(reply);
  await member.start();
  return member;
}

/** Opens the socket of a client: `client.send(srv.port('dns'), 'hello')`. */
export async function openDatagrams(): Promise<TestDatagrams> {
  const client = new TestDatagrams();
  await client.start();
  return client;
}
