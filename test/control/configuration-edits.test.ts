/** Servers, locations and upstreams that a module of the API adds, changes and removes; the module is that of the benchmark. */
import test, { type ExecutionContext } from 'ava';
import { EDITS_MODULE, editsModule, type EditCall } from '../../tools/bench/scenarios/edits-module.js';
import { exchange } from '../harness/client.js';
import { startNode, type Node, type NodeOptions } from './node.js';

const options: NodeOptions = {
  http: `upstream demo { zone demo 256k; server 127.0.0.1:1; }
    server {
      listen unix:%%PREFIX%%/web.sock;
      server_name two;
      location / { return 200 two; }
      location /a/ { return 200 a; }
    }`,
  main: `load_module ${EDITS_MODULE};`,
  files: {
    [EDITS_MODULE]: editsModule,
    'conf/ctrl.conf': `
      load_module modules/srv_http_upstream_api_module.so;
      load_module ${EDITS_MODULE};
      events {}
      http { server { listen 127.0.0.1:%%PORT_api%%; location /api { dyn_module_api; } } }`,
  },
};

async function bodyOf(t: ExecutionContext, { srv }: Node, host: string, path: string): Promise<string> {
  const response = await exchange(t, srv.path('web.sock'), `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  return response.slice(response.indexOf('\r\n\r\n') + 4);
}

async function assertInForce(t: ExecutionContext, node: Node): Promise<void> {
  t.is(await bodyOf(t, node, 'two', '/b/'), 'b');
  t.is(await bodyOf(t, node, 'two', '/a/'), 'changed');
  t.is(await bodyOf(t, node, 'three', '/'), 'three');
  t.is(await bodyOf(t, node, 'three', '/inner/'), 'inner');
  t.is(await bodyOf(t, node, 'gone', '/'), 'two');
  t.deepEqual(await node.list('up'), ['0 127.0.0.1:1', '1 127.0.0.1:2']);
}

test('what the API adds, changes and removes is active at once, after a reload and after a restart', async (t) => {
  const node = await startNode(t, options);
  const listen = `listen unix:${node.srv.path('web.sock')};`;
  const calls: readonly EditCall[] = [
    { op: 'add', target: 'server 0', name: 'b', text: 'location /b/ { return 200 b; }' },
    { op: 'replace', target: 'location 0 1', text: 'location /a/ { return 200 changed; }' },
    { op: 'add', target: 'http', name: 'three', text: `server { ${listen} server_name three; location / { return 200 three; } }` },
    { op: 'add', target: 'three', name: 'inner', text: 'location /inner/ { return 200 inner; }' },
    { op: 'add', target: 'http', name: 'gone', text: `server { ${listen} server_name gone; location / { return 200 gone; } }` },
    { op: 'remove', target: 'gone' },
    { op: 'add', target: 'http', name: 'up', text: 'upstream up { zone up 64k; server 127.0.0.1:1; server 127.0.0.1:2; }' },
  ];
  for (const call of calls) {
    const { status, body } = await node.call('POST', '/bench_edits', call);
    t.is(status, 200, `${JSON.stringify(call)}: ${body}`);
  }
  await assertInForce(t, node);
  node.srv.signal('SIGHUP');
  await node.srv.waitForLog(/reconfigured/);
  await assertInForce(t, node);
  await node.srv.stop();
  await assertInForce(t, await startNode(t, { ...options, prefix: node.srv.prefix }));
});
