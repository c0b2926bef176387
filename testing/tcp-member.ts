/**
 * A server over TCP for a module of `stream`, or for a protocol of members, to be in front of.
 *
 * ```ts
 * await using member = await startTcpMember(async (client) => {
 *   client.send('220 ready\r\n');
 *   await client.receive(/^QUIT\r\n/);
 *   client.end('221 bye\r\n');
 * });
 * await using srv = await startSrv({ stream: `server { listen 127.0.0.1:%%PORT_mail%%; proxy_pass ${member.address}; }` });
 * const client = await srv.connect('mail');
 * await client.receive(/^220 /);
 * ```
 */
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { TestConnection } from './connection.js';

/** Serves one connection. One that throws, or is rejected, closes it. */
export type TcpScript = (connection: TestConnection, socket: Socket) => void | Promise<void>;

/** Sends everything back. */
const ECHO: TcpScript = (_, socket) => void socket.pipe(socket);

/** A member that is running, on a free port of 127.0.0.1. */
export class TestTcpMember {
  /** In the order in which they were accepted. */
  readonly connections: TestConnection[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer({ allowHalfOpen: true }, (socket) => this.#serve(socket));

  constructor(private readonly script: TcpScript) {}

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** For a `server` line or `proxy_pass`. */
  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  start(): Promise<void> {
    return new Promise((done) => void this.#server.listen(0, '127.0.0.1', () => done()));
  }

  /** Closes its connections, and accepts no more. */
  stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    return new Promise((done) => void this.#server.close(() => done()));
  }

  /** For `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    const connection = new TestConnection(socket);
    this.connections.push(connection);
    void this.#run(connection, socket);
  }

  async #run(connection: TestConnection, socket: Socket): Promise<void> {
    try {
      await this.script(connection, socket);
    } catch {
      socket.destroy();
    }
  }
}

/** Starts a member; without a script it sends everything back. Resolves when it accepts connections. */
export async function startTcpMember(script: TcpScript = ECHO): Promise<TestTcpMember> {
  const member = new TestTcpMember(script);
  await member.start();
  return member;
}
