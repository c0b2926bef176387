import test from 'ava';
import { httpBackend, rawBackend } from '../harness/backends.js';
import { waitFor } from '../harness/wait.js';
import { startNode, type Node } from './node.js';

interface Peer {
  readonly id: number;
  readonly state: string;
  readonly active: number;
  readonly requests: number;
  readonly fails: number;
  readonly responses: { readonly codes: Readonly<Record<string, number>>; readonly total: number };
}

/** The figures of all members when no request runs any more. */
function restingPeers(node: Node): Promise<Peer[]> {
  return waitFor('the end of the requests', async () => {
    const { peers } = (await node.upstreams('GET', '/demo')).json as { peers: Peer[] };
    return peers.every(({ active }) => active === 0) && peers;
  });
}

test('responses are counted by status, however many different ones there are', async (t) => {
  const backend = await httpBackend(t, (request, response) => {
    response.statusCode = Number(request.url?.slice(1));
    response.end();
  });
  const node = await startNode(t, { http: `upstream demo { zone demo 256k; server 127.0.0.1:${backend.port}; }` });
  const statuses = [200, 201, 202, 301, 302, 400, 401, 402, 403, 404, 405, 409, 500, 501];
  for (let round = 1; round <= 3; round++) for (const status of statuses) await node.web(`/${status}`);
  const [peer] = await restingPeers(node);
  t.deepEqual(peer?.responses.codes, Object.fromEntries(statuses.map((status) => [status, 3])));
  t.is(peer?.responses.total, statuses.length * 3);
});

test('a member with more failures than a lowered max_fails allows is unavailable', async (t) => {
  const good = await httpBackend(t, (_, response) => response.end('good'));
  const bad = await rawBackend(t, (socket) => socket.destroy());
  const node = await startNode(t, {
    http: `upstream demo { zone demo 256k; server 127.0.0.1:${bad.port} max_fails=100 fail_timeout=1h; server 127.0.0.1:${good.port}; }`,
    workers: 1,
  });
  await waitFor('two failures', async () => {
    await node.web();
    return (await restingPeers(node)).some(({ id, fails }) => id === 0 && fails >= 2);
  });
  const states = async () => (await restingPeers(node)).map(({ state }) => state);
  t.deepEqual(await states(), ['up', 'up']);
  await node.upstreams('PATCH', '/demo/servers/0', { max_fails: 1 });
  t.deepEqual(await states(), ['unavail', 'up']);
  const before = bad.connections;
  for (let n = 0; n < 6; n++) t.is((await node.web()).body, 'good');
  t.is(bad.connections, before);
  await node.upstreams('PATCH', '/demo/servers/0', { max_fails: 100 });
  t.deepEqual(await states(), ['up', 'up']);
});

test('an attempt that is repeated on a new connection is counted', async (t) => {
  let requests = 0;
  // Keeps the connection after its first request and closes it on the second.
  const backend = await rawBackend(t, (socket) => {
    let first = true;
    socket.on('data', () => {
      requests++;
      if (first) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      else socket.destroy();
      first = false;
    });
  });
  const node = await startNode(t, { http: `upstream demo { zone demo 256k; server 127.0.0.1:${backend.port}; keepalive 4; }`, workers: 1 });
  for (let n = 0; n < 2; n++) t.is((await node.web()).body, 'ok');
  t.is(requests, 3);
  const [peer] = await restingPeers(node);
  t.like(peer, { requests: 3, fails: 0 });
  t.is(peer?.responses.total, 2);
});
