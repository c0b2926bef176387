import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { Scope } from './scope.js';

/** A TCP proxy on a port of its own, whose replies can be late, or end in the middle. */
export class FaultyProxy {
  /** Milliseconds by which replies are late. */
  latency = 0;
  /** The next reply of each connection is cut in its middle, and the connection ends. */
  cutsNext = false;
  readonly #sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    /** Port that new connections go to. */
    public target: number,
  ) {}

  static async start(t: Scope, target: number): Promise<FaultyProxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new FaultyProxy(server, target);
    server.on('connection', (client) => proxy.#relay(client));
    t.teardown(() => {
      proxy.reset();
      server.close();
    });
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Ends all connections. */
  reset(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #relay(client: Socket): void {
    const member = connect(this.target, '127.0.0.1');
    const end = (): void => {
      client.destroy();
      member.destroy();
    };
    for (const socket of [client, member]) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', end).on('close', () => {
        this.#sockets.delete(socket);
        end();
      });
    }
    client.on('data', (data) => member.write(data));
    member.on('data', (data: Buffer) => this.#reply(client, data, end));
  }

  #reply(client: Socket, data: Buffer, end: () => void): void {
    if (this.cutsNext) {
      client.write(data.subarray(0, data.length >> 1), end);
      return;
    }
    if (this.latency === 0) client.write(data);
    else setTimeout(() => client.writable && client.write(data), this.latency).unref();
  }
}
