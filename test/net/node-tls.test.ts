/** TLS with servers by the sockets of Node.js, as the transport shows it. */
import { createServer as createPlainServer, type AddressInfo, type Server } from 'node:net';
import { createServer, type TlsOptions } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import type { ConnectionTls } from '../../core/contract/client-connection.js';
import type { UpstreamTls } from '../../core/contract/upstream-tls.js';
import { Dialer } from '../../core/net/dialer.js';
import { TlsClient } from '../../core/net/tls-client.js';
import type { Connection } from '../../core/net/transport/connection.js';
import type { ClientHandshake, OtherSide, TlsConnectingUser } from '../../core/net/transport/tls.js';
import { selfSigned } from '../harness/certificate.js';
import { freePort } from '../harness/ports.js';
import { waitFor } from '../harness/wait.js';

const dialer = Dialer.plain();
const own = selfSigned('own.example');
const other = selfSigned('other.example');

const settings = (more: Partial<UpstreamTls> = {}): UpstreamTls => ({
  context: { ca: own.cert },
  sendsName: true,
  verifies: true,
  verifyDepth: 1,
  reusesSessions: true,
  ...more,
});

/** Writes down what happens on a connection; one whose server is not the right one is closed. */
class Client implements TlsConnectingUser {
  readonly preamble = '';
  readonly seen: string[] = [];
  readonly connection: Connection;
  isReused = false;

  constructor(
    port: number,
    private readonly tls: TlsClient,
    private readonly peer: object,
    private readonly name: string,
  ) {
    this.connection = dialer.connectTls({ host: '127.0.0.1', port }, this);
  }

  handshake(): ClientHandshake {
    return this.tls.handshake(this.peer, this.name);
  }
  onConnect(): void {
    this.seen.push('reached');
  }
  onSecured({ isReused }: ConnectionTls, shown: OtherSide): void {
    this.isReused = isReused;
    const problem = this.tls.problemOf(shown, this.name);
    this.seen.push(problem ?? 'secured');
    if (problem !== undefined) this.connection.destroy();
  }
  onNotSecured(reason: string): void {
    this.seen.push(`not secured: ${reason}`);
    this.connection.destroy();
  }
  onError({ code = '' }: NodeJS.ErrnoException): void {
    this.seen.push(code);
  }
  onData(chunk: Buffer): void {
    this.seen.push(chunk.toString());
  }
  onEnd(): void {
    this.connection.end();
  }
  onDrain(): void {}
  onClose(): void {
    this.seen.push('close');
  }

  async all(): Promise<readonly string[]> {
    await waitFor('the end', () => this.seen.includes('close'));
    return this.seen;
  }
}

async function listening(t: ExecutionContext, server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return (server.address() as AddressInfo).port;
}

/** Says hello, and leaves. */
const greeting = (t: ExecutionContext, options: TlsOptions): Promise<number> => {
  const server = createServer(options, (socket) => {
    socket.on('error', () => undefined).end('hello');
  });
  return listening(
    t,
    server.on('tlsClientError', () => undefined),
  );
};

for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
  test(`${version}: a session is resumed at a server whose certificate was accepted, under the same name`, async (t) => {
    const port = await greeting(t, { ...own, maxVersion: version });
    const [tls, peer] = [new TlsClient(settings()), {}];
    const isReused = async (name: string): Promise<boolean> => {
      const client = new Client(port, tls, peer, name);
      await client.all();
      return client.isReused;
    };
    t.false(await isReused('own.example'));
    t.true(await isReused('own.example'));
    t.false(await isReused('127.0.0.1'));
  });

  test(`${version}: nothing is kept of a server whose certificate is not accepted`, async (t) => {
    const port = await greeting(t, { ...own, maxVersion: version });
    const cases = [
      [settings(), 'wrong.example', 'upstream SSL certificate does not match "wrong.example"'],
      [settings({ context: { ca: other.cert } }), 'own.example', 'upstream SSL certificate verify error: (18:self-signed certificate)'],
    ] as const;
    for (const [means, name, problem] of cases) {
      const [tls, peer] = [new TlsClient(means), {}];
      t.deepEqual(await new Client(port, tls, peer, name).all(), ['reached', problem, 'close']);
      t.is(tls.handshake(peer, name).session, undefined);
    }
  });
}

async function seenAt(port: number): Promise<string> {
  const client = new Client(port, new TlsClient(settings()), {}, 'own.example');
  return (await client.all()).join('|');
}

test('failures of a handshake', async (t) => {
  const leaving = createPlainServer((socket) => socket.on('error', () => undefined).once('data', () => socket.end()));
  const resetting = createPlainServer((socket) => socket.on('error', () => undefined).once('data', () => socket.resetAndDestroy()));
  const talking = createPlainServer((socket) =>
    socket
      .on('error', () => undefined)
      .resume()
      .end('HTTP/1.1 400 Bad Request\r\n\r\n'),
  );
  t.is(await seenAt(await listening(t, leaving)), 'reached|not secured: |close');
  t.regex(await seenAt(await listening(t, resetting)), /^reached\|not secured: (?:104: Connection reset by peer)?\|close$/);
  t.regex(await seenAt(await listening(t, talking)), /^reached\|not secured: SSL: .*wrong version number.*\|close$/s);
  t.is(await seenAt(await freePort(t)), 'ECONNREFUSED|close');
});
