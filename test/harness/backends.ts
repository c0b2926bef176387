/** Servers for the server under test to talk to. They listen on a free loopback port and go away with the test. */
import { createServer, type IncomingMessage, type RequestListener, type Server as HttpServer } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import { createServer as createRawServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Scope } from './scope.js';

export interface Backend {
  readonly port: number;
  /** Connections accepted so far. */
  readonly connections: number;
  /** Closes the listener and every connection. Happens by itself at the end of the test. */
  close(): Promise<void>;
}

export interface HttpBackend extends Backend {
  /** Every request in the order it came. The body is read by the handler, if it wants it: see {@link bodyOf}. */
  readonly requests: readonly IncomingMessage[];
}

/** A node:http server. `port` when a certain one is needed, for example to come back after {@link Backend.close}. */
export async function httpBackend(t: Scope, handler: RequestListener, port = 0): Promise<HttpBackend> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    handler(request, response);
  });
  return Object.assign(await opened(t, server, port), { requests });
}

/** As {@link httpBackend}, with TLS; see certificate.ts for key and certificate. */
export async function httpsBackend(t: Scope, tls: ServerOptions, handler: RequestListener): Promise<HttpBackend> {
  const requests: IncomingMessage[] = [];
  const server = createTlsServer(tls, (request, response) => {
    requests.push(request);
    handler(request, response);
  });
  return Object.assign(await opened(t, server, 0), { requests });
}

/** A backend of plain bytes: `onConnection` does with the socket what it wants. */
export function rawBackend(t: Scope, onConnection: (socket: Socket) => void, port = 0): Promise<Backend> {
  const server = createRawServer((socket) => {
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  return opened(t, server, port);
}

/** The whole body of a request as text. */
export async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

async function opened(t: Scope, server: Server | HttpServer, port: number): Promise<Backend> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections++;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  t.teardown(close);
  const address = server.address() as AddressInfo;
  return {
    port: address.port,
    get connections() {
      return connections;
    },
    close,
  };
}
