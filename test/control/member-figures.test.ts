import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import test from 'ava';
import { httpBackend, rawBackend } from '../harness/backends.js';
import { waitFor } from '../harness/wait.js';
import { sharedNode, type Node } from './node.js';

interface Peer {
  readonly id: number;
  readonly state: string;
  readonly active: number;
  readonly requests: number;
  readonly fails: number;
  readonly responses: { readonly codes: Readonly<Record<string, number>>; readonly total: number };
}

/** An upstream for each test. One worker: what it knows of its members is all there is. */
const shared = sharedNode({
  workers: 1,
  http: `upstream counted { zone counted 256k; server 127.0.0.1:%%PORT_counted%%; }
    upstream failing { zone failing 256k; server 127.0.0.1:%%PORT_bad%% max_fails=100 fail_timeout=1h; server 127.0.0.1:%%PORT_good%%; }
    upstream repeated { zone repeated 256k; server 127.0.0.1:%%PORT_repeated%%; keepalive 4; }`,
  server: ['counted', 'failing', 'repeated'].map((name) => `location /${name}/ { proxy_pass http://${name}/; }`).join('\n'),
});

/** The figures of all members when no request runs any more. */
function restingPeers(node: Node, upstream: string): Promise<Peer[]> {
  return waitFor('the end of the requests', async () => {
    const { peers } = (await node.upstreams('GET', `/${upstream}`)).json as { peers: Peer[] };
    return peers.every(({ active }) => active === 0) && peers;
  });
}

/** The status is that of the path. */
const respondAsAsked: RequestListener = (request, response) => {
  response.statusCode = Number(request.url?.slice(1));
  response.end();
};

test('responses are counted by status, however many different ones there are', async (t) => {
  const node = await shared();
  await httpBackend(t, respondAsAsked, node.srv.port('counted'));
  const statuses = [200, 201, 202, 301, 302, 400, 401, 402, 403, 404, 405, 409, 500, 501];
  for (let round = 1; round <= 3; round++) for (const status of statuses) await node.web(`/counted/${status}`);
  const [peer] = await restingPeers(node, 'counted');
  t.deepEqual(peer?.responses.codes, Object.fromEntries(statuses.map((status) => [status, 3])));
  t.is(peer?.responses.total, statuses.length * 3);
});

test('a member with more failures than a lowered max_fails allows is unavailable', async (t) => {
  const node = await shared();
  await httpBackend(t, (_, response) => response.end('good'), node.srv.port('good'));
  const bad = await rawBackend(t, (socket) => socket.destroy(), node.srv.port('bad'));
  await waitFor('two failures', async () => {
    await node.web('/failing/');
    return (await restingPeers(node, 'failing')).some(({ id, fails }) => id === 0 && fails >= 2);
  });
  const states = async () => (await restingPeers(node, 'failing')).map(({ state }) => state);
  t.deepEqual(await states(), ['up', 'up']);
  await node.upstreams('PATCH', '/failing/servers/0', { max_fails: 1 });
  t.deepEqual(await states(), ['unavail', 'up']);
  const before = bad.connections;
  for (let n = 0; n < 6; n++) t.is((await node.web('/failing/')).body, 'good');
  t.is(bad.connections, before);
  await node.upstreams('PATCH', '/failing/servers/0', { max_fails: 100 });
  t.deepEqual(await states(), ['up', 'up']);
});

test('an attempt that is repeated on a new connection is counted', async (t) => {
  const node = await shared();
  let requests = 0;
  // Keeps the connection after its first request and closes it on the second.
  const respond = (socket: Socket): void => {
    let first = true;
    socket.on('data', () => {
      requests++;
      if (first) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      else socket.destroy();
      first = false;
    });
  };
  await rawBackend(t, respond, node.srv.port('repeated'));
  for (let n = 0; n < 2; n++) t.is((await node.web('/repeated/')).body, 'ok');
  t.is(requests, 3);
  const [peer] = await restingPeers(node, 'repeated');
  t.like(peer, { requests: 3, fails: 0 });
  t.is(peer?.responses.total, 2);
});
