/** What is in the file is changed by API and comes back: nothing is left of it in the drift, and members keep their ids. */
import test from 'ava';
import { startNode, type Node } from './node.js';

const NAMES = ['dyn_upstream', 'config'];
const UPSTREAMS = {
  first: 'zone first 256k; server 127.0.0.1:1; server 127.0.0.1:2 weight=2;',
  mixed: 'server 127.0.0.1:1; zone mixed 256k; server 127.0.0.1:2; keepalive 32; least_conn; server 127.0.0.1:3;',
};
const ALL = Object.keys(UPSTREAMS);
const OPTIONS = {
  workers: 1,
  main: NAMES.map((name) => `load_module modules/srv_http_${name}_module.so;`).join(' '),
  controlMain: [...NAMES, 'history'].map((name) => `load_module modules/srv_http_${name}_api_module.so;`).join(' '),
  http: `upstream demo { zone demo 64k; server 127.0.0.1:1; } ${Object.entries(UPSTREAMS)
    .map(([name, text]) => `upstream ${name} { ${text} }`)
    .join(' ')}`,
};

test('a file upstream that is changed, also in its members, and changed back', async (t) => {
  const node = await startNode(t, OPTIONS);
  const done = async (method: string, path: string, body?: object): Promise<void> => {
    const { status, body: text } = await node.call(method, path, body);
    t.true(status < 300, text);
  };
  const drift = async (on: Node = node): Promise<unknown> => ((await on.call('GET', '/config/drift')).json as { diff: unknown }).diff;
  const lists = (on: Node = node): Promise<string[][]> => Promise.all(ALL.map((name) => on.list(name)));
  const change = (name: string, text: string): Promise<void> => done('PATCH', `/dyn_ups/${name}?force=1`, { upstream_body: text });
  const before = await lists();

  for (const [name, text] of Object.entries(UPSTREAMS)) {
    await change(name, `zone ${name} 512k; random; keepalive 7`);
    t.not(JSON.stringify(await drift()), '[]');
    await change(name, text.replaceAll(/server [^;]*;/g, ''));
    t.deepEqual(await drift(), [], name);
  }

  const { etag = '' } = (await node.call('GET', '/history')).headers;
  for (const name of ALL) {
    const members = `/upstream_api/http/upstreams/${name}/servers/`;
    await done('DELETE', `${members}0`);
    await done('POST', members, { server: '10.0.0.1' });
    await done('PATCH', `${members}1`, { weight: 9 });
    await change(name, `ip_hash; zone ${name} 256k`);
  }
  t.regex(JSON.stringify(await drift()), /- {5}server 127\.0\.0\.1:1;/);
  await done('POST', `/history/${etag.replaceAll('"', '')}/rollback`, {});
  t.deepEqual(await drift(), []);
  t.deepEqual(await lists(), before);

  await node.srv.stop();
  const again = await startNode(t, { ...OPTIONS, prefix: node.srv.prefix });
  t.deepEqual(await drift(again), []);
  t.deepEqual(await lists(again), before);
});

test('rollbacks step by step over the change of an upstream with a member of the API', async (t) => {
  const node = await startNode(t, OPTIONS);
  const call = async (method: string, path: string, body: object): Promise<void> => {
    const { status, body: text } = await node.call(method, path, body);
    t.true(status < 300, text);
  };
  const drift = async (): Promise<unknown> => ((await node.call('GET', '/config/drift')).json as { diff: unknown }).diff;
  const version = async (): Promise<string> => ((await node.call('GET', '/history')).headers.etag ?? '').replaceAll('"', '');
  const before = await node.list('first');
  const start = await version();
  await call('POST', '/upstream_api/http/upstreams/first/servers/', { server: '10.0.0.1' });
  const withMember = await version();
  const after = await node.list('first');
  await call('PATCH', '/dyn_ups/first?force=1', { upstream_body: 'zone first 256k; least_conn;' });
  await call('POST', `/history/${withMember}/rollback`, {});
  t.deepEqual(await node.list('first'), after);
  for (let round = 0; round < 3; round++) {
    await call('POST', `/history/${start}/rollback`, {});
    t.deepEqual(await drift(), [], String(round));
    t.deepEqual(await node.list('first'), before, String(round));
  }
});
