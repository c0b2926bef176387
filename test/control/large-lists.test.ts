import test from 'ava';
import { get, type HttpResponse } from '../harness/client.js';
import { startNode, type Node } from './node.js';

/** As JSON these are more than 5 MiB. */
const COUNT = 32_000;
const address = (n: number): string => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}:80`;

/** Replaces the members of `demo`. */
function put(node: Node, list: readonly object[] | string, headers: Readonly<Record<string, string>> = {}): Promise<HttpResponse> {
  return get(node.srv.port('api'), '/api/v1/upstream_api/http/upstreams/demo/servers/', {
    method: 'PUT',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof list === 'string' ? list : JSON.stringify(list),
    timeoutMs: 60_000,
  });
}

test('a list of 32,000 members is taken, also as it is shown, which is longer than other bodies may be; then one of a single member', async (t) => {
  const node = await startNode(t, {
    http: 'upstream demo { zone demo 32m; server 127.0.0.1:%%PORT_one%%; } server { listen 127.0.0.1:%%PORT_one%%; return 200 "one"; }',
    workers: 2,
  });
  const large = await put(
    node,
    Array.from({ length: COUNT }, (_, n) => ({ server: address(n), down: true })),
  );
  t.is(large.status, 200);
  const members = JSON.parse(large.body) as { server: string }[];
  t.is(members.length, COUNT);
  t.is(members.at(-1)?.server, address(COUNT - 1));
  const shown = await get(node.srv.port('api'), '/api/v1/upstream_api/http/upstreams/demo/servers', { timeoutMs: 60_000 });
  t.true(shown.body.length > 5 * 1024 ** 2);
  t.is(shown.body, large.body);
  const same = await put(node, shown.body, { prefer: 'return=minimal' });
  t.is(same.status, 204, same.body.slice(0, 300));
  t.is(same.headers['etag'], shown.headers['etag']);
  // In every worker: nobody is left to ask.
  for (const { status } of await Promise.all(Array.from({ length: 16 }, () => node.web()))) t.is(status, 502);
  const small = await put(node, [{ server: `127.0.0.1:${node.srv.port('one')}` }]);
  t.is(small.status, 200);
  for (const { body } of await Promise.all(Array.from({ length: 16 }, () => node.web()))) t.is(body, 'one');
});

test('a list that the heap of the workers cannot hold is rejected, and everything goes on', async (t) => {
  const node = await startNode(t, {
    main: 'worker_heap_size 32m;',
    http: 'upstream demo { zone demo 8m; server 127.0.0.1:%%PORT_one%%; } server { listen 127.0.0.1:%%PORT_one%%; return 200 "one"; }',
  });
  const list = Array.from({ length: 20_000 }, (_, n) => ({ server: address(n), down: true }));
  const refused = await node.upstreams('PUT', '/demo/servers/', list);
  t.is(refused.status, 507);
  t.like(refused.json, { error: { code: 'HeapFull' } });
  t.regex(JSON.stringify(refused.json), /worker_heap_size \d+m;/);
  t.is((await node.web()).body, 'one');
  t.is((await node.upstreams('PUT', '/demo/servers/', list.slice(0, 1000))).status, 200);
  t.is((await node.web()).status, 502);
  t.notRegex(node.srv.read('logs/error.log'), /out of memory/);
});
