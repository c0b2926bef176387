import {
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerOptions,
  type IncomingHttpHeaders,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { Scope } from './scope.js';

export interface Http2Backend {
  readonly port: number;
  /** Open and closed connections so far, in order. */
  readonly sessions: readonly ServerHttp2Session[];
  /** Most streams that were open at the same time on one connection. */
  readonly mostStreams: number;
}

/** An HTTP/2 server of Node.js on a free loopback port: over TLS, by ALPN, where it has a key. */
export async function http2Backend(
  t: Scope,
  onStream: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void,
  options: ServerOptions & { readonly key?: string; readonly cert?: string } = {},
): Promise<Http2Backend> {
  const server: Http2Server | Http2SecureServer = options.key === undefined ? createServer(options) : createSecureServer(options);
  const sessions: ServerHttp2Session[] = [];
  let mostStreams = 0;
  const open = new Map<unknown, number>();
  server.on('session', (session) => {
    sessions.push(session);
    session.on('error', () => undefined);
  });
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    const { session } = stream;
    const count = (open.get(session) ?? 0) + 1;
    open.set(session, count);
    mostStreams = Math.max(mostStreams, count);
    stream.on('error', () => undefined);
    stream.once('close', () => open.set(session, (open.get(session) ?? 1) - 1));
    onStream(stream, headers);
  });
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(async () => {
    for (const session of sessions) session.destroy();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    sessions,
    get mostStreams() {
      return mostStreams;
    },
  };
}
