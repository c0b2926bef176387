/** Members of upstreams that are checked, and what the API shows of them. */
import { createSocket } from 'node:dgram';
import { httpBackend, type HttpBackend } from '../harness/backends.js';
import type { Scope } from '../harness/scope.js';
import { waitFor } from '../harness/wait.js';
import type { Node } from './node.js';

/** A server whose checks get what it is told to respond; other requests get its name. */
export interface Member extends HttpBackend {
  status: number;
  body: string;
  /** Checks so far. */
  checks: number;
  /** Fields of the last one. */
  last: Readonly<Record<string, string | string[] | undefined>>;
}

export async function member(t: Scope, name: string): Promise<Member> {
  const backend: Member = Object.assign(
    await httpBackend(t, (request, response) => {
      if (!request.url?.startsWith('/ping')) return void response.end(name);
      backend.checks++;
      backend.last = { ...request.headers, url: request.url };
      response.writeHead(backend.status, { 'X-Kind': 'a member' });
      return void response.end(backend.body);
    }),
    { status: 200, body: 'pong', checks: 0, last: {} },
  );
  return backend;
}

export interface Peer {
  readonly id: number;
  readonly server: string;
  readonly state: string;
  readonly requests: number;
  readonly downtime: number;
  readonly downstart?: string;
  readonly health_checks: {
    readonly checks: number;
    readonly fails: number;
    readonly unhealthy: number;
    readonly last_passed?: boolean;
    readonly last_error?: string;
    readonly last_at?: string;
  };
}

export async function peers(node: Node, name: string): Promise<readonly Peer[]> {
  return ((await node.upstreams('GET', `/${name}`)).json as { peers: Peer[] }).peers;
}

/** Resolves with the peers when their states are these, in the order they came. */
export function states(node: Node, name: string, ...expected: readonly string[]): Promise<readonly Peer[]> {
  return waitFor(`states ${expected.join(' ')} of ${name}`, async () => {
    const found = await peers(node, name);
    return found.map(({ state }) => state).join() === expected.join() && found;
  });
}

/** Who responds to eight requests: enough for both workers. */
export async function responders(node: Node, name: string): Promise<string> {
  const all: string[] = [];
  for (let n = 0; n < 8; n++) {
    const { status, body } = await node.web(`/${name}`);
    all.push(status === 200 ? body : String(status));
  }
  return [...new Set(all)].toSorted().join();
}

export async function checksOf(node: Node, name: string): Promise<number> {
  return (await peers(node, name))[0]?.health_checks.checks ?? 0;
}

/** A server of datagrams. @param reply to a datagram; undefined: none */
export async function udpBackend(
  t: Scope,
  reply: (data: Buffer) => string | undefined,
  port = 0,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const socket = createSocket('udp4');
  let isOpen = true;
  socket.on('message', (data, { port: to, address }) => {
    const text = reply(data);
    if (text !== undefined) socket.send(text, to, address);
  });
  await new Promise<void>((resolve) => {
    socket.bind(port, '127.0.0.1', resolve);
  });
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      if (!isOpen) return resolve();
      isOpen = false;
      return void socket.close(resolve);
    });
  t.teardown(close);
  return { port: socket.address().port, close };
}
