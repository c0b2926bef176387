import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { errorOf } from './api-client.js';
import { startNode } from './node.js';

test('hash consistent: members that the API adds and removes move their share of the keys, in all workers', async (t) => {
  const backends = await Promise.all(['a', 'b', 'c', 'd'].map((letter) => httpBackend(t, (_, response) => response.end(letter))));
  const [a, b, c, d] = backends.map(({ port }) => `127.0.0.1:${port}`);
  const node = await startNode(t, {
    http: `upstream demo { zone demo 256k; hash $arg_k consistent; server ${a}; server ${b}; server ${c}; }
      server { listen 127.0.0.1:%%PORT_ring%%; location / { proxy_pass http://demo; } }`,
  });
  const mapping = async (): Promise<string[]> => {
    const all: string[] = [];
    while (all.length < 60) all.push((await get(node.srv.port('ring'), `/?k=key${all.length}`)).body);
    return all;
  };
  const before = await mapping();
  const added = await node.upstreams('POST', '/demo/servers', { server: d });
  t.is(added.status, 201);
  const after = await mapping();
  t.true(after.includes('d'));
  t.true(after.every((letter, key) => letter === before[key] || letter === 'd'));
  t.is((await node.upstreams('DELETE', `/demo/servers/${(added.json as { id: number }).id}`)).status, 200);
  t.deepEqual(await mapping(), before);
  const backup = await node.upstreams('POST', '/demo/servers', { server: d, backup: true });
  t.is(backup.status, 400);
  t.is(errorOf(backup).code, 'UpstreamNoBackup');
});
