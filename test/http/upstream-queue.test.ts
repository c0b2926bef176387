import type { ServerResponse } from 'node:http';
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { connectRaw, type HttpResponse } from '../harness/client.js';
import { shared, type Scope } from '../harness/scope.js';
import { waitFor } from '../harness/wait.js';
import { nodeConf, startNode, type Node } from '../control/node.js';

/** A backend that responds when it is told to. */
class Held {
  readonly #waiting: [path: string, response: ServerResponse][] = [];
  /** Paths, in the order in which they came. */
  readonly paths: string[] = [];

  port = 0;

  static async open(t: Scope): Promise<Held> {
    const held = new Held();
    const { port } = await httpBackend(t, (request, response) => held.#hold(request.url ?? '', response));
    held.port = port;
    return held;
  }

  /** Responds to the request that has waited longest. */
  async answer(): Promise<string> {
    await waitFor('a request at the backend', () => this.#waiting.length > 0);
    const [path, response] = this.#waiting.shift()!;
    response.end(path);
    return path;
  }

  #hold(path: string, response: ServerResponse): void {
    this.paths.push(path);
    this.#waiting.push([path, response]);
  }
}

interface Queue {
  readonly size: number;
  readonly max_size: number;
  readonly overflows: number;
}

const LOG = 'log_format queued "$uri $status $upstream_addr $upstream_queue_time"; access_log logs/queued.log queued;';

interface Setting {
  readonly node: Node;
  /** The members of the upstreams of these names. */
  readonly order: Held;
  readonly grown: Held;
  readonly broken: { yes: boolean };
  readonly conf: (more: string) => string;
}

const LOCATIONS = ['order', 'grown', 'short', 'away'].map((name) => `location /${name} { proxy_pass http://${name}; }`).join(' ');

const setting = shared<Setting>(async (t) => {
  const [order, grown] = [await Held.open(t), await Held.open(t)];
  const broken = { yes: true };
  const weak = await httpBackend(t, (_, response) => {
    if (broken.yes) response.destroy();
    else response.end('well');
  });
  const http = (more: string): string => `${LOG}
    upstream order { zone order 64k; server 127.0.0.1:${order.port} max_conns=1; queue 3; }
    upstream grown { zone grown 64k; server 127.0.0.1:${grown.port} max_conns=1; ${more} queue 10; }
    upstream short { zone short 64k; server 127.0.0.1:1 down; queue 10 timeout=300ms; }
    upstream away { zone away 64k; server 127.0.0.1:${weak.port} fail_timeout=1s; server 127.0.0.1:1 fail_timeout=1h; queue 10; }`;
  const node = await startNode(t, { http: http(''), server: LOCATIONS, workers: 3 });
  return { node, order, grown, broken, conf: (more) => nodeConf({ http: http(more), server: LOCATIONS, workers: 3 }) };
});

async function queueOf(upstream: string): Promise<Queue> {
  const { node } = await setting();
  return ((await node.upstreams('GET', `/${upstream}`)).json as { queue: Queue }).queue;
}

const queued = (upstream: string, size: number): Promise<true> =>
  waitFor(`${size} in the queue of ${upstream}`, async () => (await queueOf(upstream)).size === size);

/** Sends a request that becomes number `place` of those who wait. */
async function waiting(path: string, place: number): Promise<{ readonly response: Promise<HttpResponse> }> {
  const { node } = await setting();
  const response = node.web(path);
  await queued(path.split('/')[1]!, place);
  return { response };
}

test.serial('requests wait for a member, in order; a client that leaves gives its place up; a full queue is a 502', async (t) => {
  const { node, order } = await setting();
  const first = node.web('/order/0');
  await waitFor('the first request', () => order.paths.length === 1);
  const one = await waiting('/order/1', 1);
  const leaving = await connectRaw(t, node.srv.port('web'));
  leaving.send('GET /order/2 HTTP/1.1\r\nHost: a\r\n\r\n');
  await queued('order', 2);
  const three = await waiting('/order/3', 3);
  t.is((await node.web('/order/4')).status, 502);
  t.deepEqual(await queueOf('order'), { size: 3, max_size: 3, overflows: 1 });
  leaving.socket.destroy();
  await queued('order', 2);
  for (const path of ['/order/0', '/order/1', '/order/3']) t.is(await order.answer(), path);
  t.deepEqual([(await first).body, (await one.response).body, (await three.response).body], ['/order/0', '/order/1', '/order/3']);
  t.deepEqual(await queueOf('order'), { size: 0, max_size: 3, overflows: 1 });
  t.is((await node.upstreams('DELETE', '/order/')).status, 204);
  t.is((await queueOf('order')).overflows, 0);
  await node.srv.waitForLog(/\[error\].* upstream queue is full while connecting to upstream/);
  const log = (): string => node.srv.read('logs/queued.log');
  await waitFor('the log', () => log().includes('/order/3 '));
  t.regex(log(), new RegExp(`^/order/0 200 127.0.0.1:${order.port} -$`, 'm'));
  t.regex(log(), new RegExp(`^/order/1 200 127.0.0.1:${order.port} \\d+\\.\\d{3}$`, 'm'));
  t.regex(log(), /^\/order\/4 502 order -$/m);
});

test.serial('a member that is added by API or by a reload serves those who wait', async (t) => {
  const { node, grown, conf } = await setting();
  const [added, reloaded] = [await Held.open(t), await Held.open(t)];
  const busy = [node.web('/grown/0')];
  await waitFor('the first request', () => grown.paths.length === 1);
  const one = await waiting('/grown/1', 1);
  const { status } = await node.upstreams('POST', '/grown/servers/', { server: `127.0.0.1:${added.port}`, max_conns: 1 });
  t.is(status, 201);
  t.is(await added.answer(), '/grown/1');
  t.is((await one.response).body, '/grown/1');
  busy.push(node.web('/grown/2'));
  await waitFor('the next request', () => added.paths.length === 2);
  const three = await waiting('/grown/3', 1);
  await node.srv.configure(conf(`server 127.0.0.1:${reloaded.port};`));
  node.srv.signal('SIGHUP');
  t.is(await reloaded.answer(), '/grown/3');
  t.is((await three.response).body, '/grown/3');
  for (const backend of [grown, added]) await backend.answer();
  await Promise.all(busy);
});

test.serial('after its time a request is a 502', async (t) => {
  const { node } = await setting();
  t.is((await node.web('/short')).status, 502);
  await node.srv.waitForLog(/\[error\].* upstream queue timed out while connecting to upstream/);
  t.deepEqual(await queueOf('short'), { size: 0, max_size: 10, overflows: 0 });
});

test.serial('all members are unavailable: requests wait until one may be tried again', async (t) => {
  const { node, broken } = await setting();
  t.is((await node.web('/away')).status, 502);
  broken.yes = false;
  const last = await waiting('/away', 1);
  t.is((await last.response).body, 'well');
});

test.serial('QUIT: those who wait are served before the server is gone', async (t) => {
  const { node, order } = await setting();
  const first = node.web('/order/5');
  await waitFor('the first request', () => order.paths.includes('/order/5'));
  const rest = [await waiting('/order/6', 1), await waiting('/order/7', 2)];
  node.srv.signal('SIGQUIT');
  for (const path of ['/order/5', '/order/6', '/order/7']) t.is(await order.answer(), path);
  t.is((await first).body, '/order/5');
  t.deepEqual(await Promise.all(rest.map(async ({ response }) => (await response).body)), ['/order/6', '/order/7']);
  await node.srv.exited;
});
