/** The figures of members, against what their backends have seen. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import test from 'ava';
import { rawBackend } from '../harness/backends.js';
import { connectRaw, get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { freePort } from '../harness/ports.js';
import { shared, type Scope } from '../harness/scope.js';
import { waitFor } from '../harness/wait.js';
import { startNode, type Node } from './node.js';

interface Figures {
  readonly server: string;
  readonly state: string;
  readonly active: number;
  readonly requests: number;
  readonly responses: Readonly<Record<string, unknown>>;
  readonly sent: number;
  readonly received: number;
  readonly fails: number;
  readonly unavail: number;
  readonly downtime: number;
  readonly downstart?: string;
  readonly selected?: string;
  readonly header_time: number;
  readonly response_time: number;
}

/** A backend that knows what goes over its sockets. */
class Counting {
  readonly #sockets: Socket[] = [];
  port = 0;

  static async open(t: Scope, handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<Counting> {
    const counting = new Counting();
    const server = createServer({ keepAliveTimeout: 60_000 }, handle);
    server.on('connection', (socket) => counting.#sockets.push(socket));
    server.on('upgrade', (_, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\nfirst');
      socket.on('data', (chunk: Buffer) => {
        socket.write(chunk.toString().toUpperCase());
        if (chunk.includes('bye')) socket.end();
      });
    });
    await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
    t.teardown(() => {
      server.close();
      server.closeAllConnections();
    });
    counting.port = (server.address() as AddressInfo).port;
    return counting;
  }

  /** Bytes of all connections so far. */
  get bytes(): { read: number; written: number } {
    const sum = (of: (socket: Socket) => number): number => this.#sockets.reduce((total, socket) => total + of(socket), 0);
    return { read: sum(({ bytesRead }) => bytesRead), written: sum(({ bytesWritten }) => bytesWritten) };
  }

  get open(): number {
    return this.#sockets.filter(({ destroyed }) => !destroyed).length;
  }
}

const LARGE = 'x'.repeat(300_000);

function handle(request: IncomingMessage, response: ServerResponse): void {
  request.resume().on('end', () => {
    const path = (request.url ?? '').split('/').at(-1);
    if (path === 'missing') response.writeHead(404).end('not here');
    else if (path === 'wrong') response.writeHead(500).end('wrong');
    else if (path === 'moved') response.writeHead(302, { Location: '/' }).end();
    else if (path === 'pieces') {
      response.write('one');
      setTimeout(() => response.end('two'), 60);
    } else if (path === 'late') setTimeout(() => response.end('late'), 60);
    else if (path === 'broken') request.socket.destroy();
    else response.end(path === 'large' ? LARGE : 'hello');
  });
}

const EXIT = plugin('exit', {
  manifest: `directives: { exit: directive({ in: ['location'], args: text() }) }`,
  body: `compile(scope) { return scope.conf.exit && { content: request => { setImmediate(() => process.exit(3)); return request.send(200, 'bye'); } }; }`,
});

interface Setting {
  readonly node: Node;
  readonly backend: Counting;
}

const setting = shared<Setting>(async (t) => {
  const backend = await Counting.open(t, handle);
  const hanging = await rawBackend(t, () => undefined);
  const dead = await freePort(t);
  const own = `server 127.0.0.1:${backend.port}`;
  const upstreams = {
    bytes: `${own};`,
    times: `${own};`,
    failing: `${own} backup; server 127.0.0.1:${dead} fail_timeout=1s;`,
    broken: `${own} max_fails=0;`,
    held: `server 127.0.0.1:${hanging.port};`,
  };
  const node = await startNode(t, {
    main: 'load_module modules/exit.js;',
    files: { 'modules/exit.js': EXIT },
    allowCrashes: true,
    http: Object.entries(upstreams)
      .map(([name, lines]) => `upstream ${name} { zone ${name} 64k; ${lines} }`)
      .join('\n'),
    server: `location /exit { exit x; }
      location /bytes/tunnel { proxy_pass http://bytes; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; }
      ${Object.keys(upstreams)
        .map((name) => `location /${name}/ { proxy_pass http://${name}; }`)
        .join('\n')}`,
    workers: 2,
  });
  return { node, backend };
});

async function upstream(name: string): Promise<{ keepalive: number; peers: Figures[] }> {
  const { node } = await setting();
  return (await node.upstreams('GET', `/${name}`)).json as { keepalive: number; peers: Figures[] };
}

async function peer(name: string): Promise<Figures> {
  return (await upstream(name)).peers[0]!;
}

/** The figures of a member without requests. */
function idle(name: string): Promise<Figures> {
  return waitFor(`the end of the requests of ${name}`, async () => {
    const figures = await peer(name);
    return figures.active === 0 && figures;
  });
}

test.serial('bytes, requests and responses are those that the backend has seen; a reset sets them to zero', async (t) => {
  const { node, backend } = await setting();
  const started = Date.now();
  const web = node.srv.port('web');
  const before = backend.bytes;
  for (const path of ['a', 'a', 'missing', 'wrong', 'moved', 'large', 'pieces']) await node.web(`/bytes/${path}`);
  await get(web, '/bytes/a', { method: 'HEAD' });
  await get(web, '/bytes/a', { method: 'POST', body: LARGE });
  const tunnel = await connectRaw(t, web);
  tunnel.send('GET /bytes/tunnel HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n');
  await tunnel.receive(/first/);
  tunnel.send('hello');
  await tunnel.receive(/HELLO/);
  tunnel.send('bye');
  await tunnel.receiveAll();
  const figures = await idle('bytes');
  const { read, written } = backend.bytes;
  t.is(figures.sent, read - before.read);
  t.is(figures.received, written - before.written);
  t.is(figures.requests, 10);
  const codes = { 101: 1, 200: 6, 302: 1, 404: 1, 500: 1 };
  t.deepEqual(figures.responses, { '1xx': 1, '2xx': 6, '3xx': 1, '4xx': 1, '5xx': 1, codes, total: 10 });
  t.like(figures, { state: 'up', fails: 0, unavail: 0, downtime: 0 });
  const selected = Date.parse(figures.selected ?? '');
  t.true(selected >= started - 1000 && selected <= Date.now());
  t.is((await upstream('bytes')).keepalive, backend.open);
  t.is((await node.upstreams('DELETE', '/bytes/')).status, 204);
  const { selected: _never, ...reset } = await peer('bytes');
  t.like(reset, { requests: 0, sent: 0, received: 0, header_time: 0, response_time: 0 });
  t.deepEqual(reset.responses, { '1xx': 0, '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0, codes: {}, total: 0 });
  t.is((await upstream('bytes')).keepalive, backend.open, 'connections are no statistics');
});

test.serial('times to the header and to the end; a client that leaves in between does not count', async (t) => {
  const { node } = await setting();
  await node.web('/times/late');
  const late = await idle('times');
  t.true(late.header_time >= 50 && late.response_time >= late.header_time, JSON.stringify(late));
  await node.upstreams('DELETE', '/times/');
  await node.web('/times/pieces');
  const pieces = await idle('times');
  t.true(pieces.header_time < 50 && pieces.response_time >= 50, JSON.stringify(pieces));
  await node.upstreams('DELETE', '/times/');
  const leaving = await connectRaw(t, node.srv.port('web'));
  leaving.send('GET /times/pieces HTTP/1.1\r\nHost: a\r\n\r\n');
  await leaving.receive(/one/);
  leaving.socket.destroy();
  const left = await idle('times');
  t.like(left, { requests: 1, response_time: 0 });
  t.like(left.responses, { '2xx': 1 });
});

const failedPeer = async (): Promise<Figures> => (await upstream('failing')).peers.find(({ fails }) => fails > 0)!;

test.serial('failures, and how long a member was unavailable', async (t) => {
  const { node } = await setting();
  t.is((await node.web('/failing/a')).body, 'hello');
  const failed = await failedPeer();
  t.like(failed, { state: 'unavail', requests: 1, fails: 1, unavail: 1, sent: 0, received: 0 });
  t.true(Math.abs(Date.now() - Date.parse(failed.downstart ?? '')) < 60_000);
  const later = await waitFor('the time to pass', async () => {
    const figures = await failedPeer();
    return figures.downtime > failed.downtime && figures;
  });
  t.is(later.downstart, failed.downstart);
  await node.web('/broken/broken');
  t.like(await idle('broken'), { state: 'up', requests: 1, fails: 1, unavail: 0, downtime: 0 });
});

test.serial('what a worker had under way when it died is no longer active, and has been counted once', async (t) => {
  const { node } = await setting();
  const web = node.srv.port('web');
  const clients = await Promise.all(Array.from({ length: 8 }, () => connectRaw(t, web)));
  for (const client of clients) client.send('GET /held/a HTTP/1.1\r\nHost: a\r\n\r\n');
  await waitFor('all at the member', async () => (await peer('held')).active === 8);
  t.is((await get(web, '/exit')).body, 'bye');
  await waitFor('the connections of one worker to be cut', () => clients.some(({ closed }) => closed));
  const left = await waitFor('the rest', async () => {
    const figures = await peer('held');
    return figures.active === clients.filter(({ closed }) => !closed).length && figures;
  });
  t.is(left.requests, 8);
  for (const client of clients) client.socket.destroy();
  t.like(await idle('held'), { requests: 8, fails: 0, active: 0 });
});
