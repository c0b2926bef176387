import test, { type ExecutionContext } from 'ava';
import { connectRaw, type RawConnection } from '../harness/client.js';
import { nodeConf, startNode, type Node, type NodeOptions } from './node.js';

const OPTIONS: NodeOptions = {
  http: `
    upstream demo { zone demo 256k; server 127.0.0.1:%%PORT_one%%; }
    server { listen 127.0.0.1:%%PORT_one%%; return 200 "one"; }
    server { listen 127.0.0.1:%%PORT_two%%; return 200 "two"; }`,
  server: 'location / { proxy_pass http://demo; } location /kv { return 200 "[$kv_http_color]"; }',
};

/**
 * A node whose four workers become one, and connections of all four. Each has sent the first letter of its next request: one that has sent
 * nothing gets no more than a second for it.
 */
async function leaving(t: ExecutionContext): Promise<{ node: Node; connections: readonly RawConnection[] }> {
  const node = await startNode(t, { ...OPTIONS, workers: 4 });
  const connections = await Promise.all(Array.from({ length: 40 }, () => connectRaw(t, node.srv.port('web'))));
  for (const connection of connections) connection.send(`${request('/kv')}G`);
  for (const connection of connections) await connection.receive(/200 OK[^]*\[\]$/);
  for (const connection of connections) connection.take();
  await reload(node, OPTIONS, 1);
  return { node, connections };
}

async function reload(node: Node, options: NodeOptions, count: number): Promise<void> {
  await node.srv.configure(nodeConf({ ...options, workers: 1 }));
  node.srv.signal('SIGHUP');
  await node.srv.waitForLog(new RegExp(`(reconfigured[^]*){${count}}`));
}

const request = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
/** What is left of it. */
const rest = (path: string): string => request(path).slice(1);

test('an acknowledged change is active in workers that are leaving, too', async (t) => {
  const { node, connections } = await leaving(t);
  t.is((await node.call('POST', '/kv', { key: 'color', value: 'red' })).status, 200);
  t.is((await node.upstreams('PUT', '/demo/servers/', [{ server: `127.0.0.1:${node.srv.port('two')}` }])).status, 200);
  for (const [at, connection] of connections.entries()) connection.send(rest(at % 2 === 0 ? '/kv' : '/'));
  for (const [at, connection] of connections.entries()) {
    const [, body] = await connection.receive(/^HTTP\/1\.1 \d+ [^]*\r\n\r\n(.+)$/);
    t.is(body, at % 2 === 0 ? '[red]' : 'two');
  }
  await node.srv.waitForLog(/(worker \d exited with code 0[^]*){3}/);
});

test('a reload is active in workers that are leaving, which open no socket for it', async (t) => {
  const { node, connections } = await leaving(t);
  const http = `${OPTIONS.http} server { listen 127.0.0.1:%%PORT_more%%; return 200 "more"; }`;
  await reload(node, { http, server: 'return 200 "again";' }, 2);
  const others = await Promise.all(Array.from({ length: 20 }, () => connectRaw(t, node.srv.port('more'))));
  for (const connection of connections) connection.send(rest('/'));
  for (const connection of others) connection.send(request('/'));
  for (const connection of connections) t.truthy(await connection.receive(/200 OK[^]*again$/));
  for (const connection of others) t.truthy(await connection.receive(/200 OK[^]*keep-alive[^]*more$/i));
});

test('a connection that leaving workers hold is not cut when a reload removes its address', async (t) => {
  const { node, connections } = await leaving(t);
  await node.srv.configure(nodeConf({ ...OPTIONS, workers: 1 }).replace('%%PORT_web%%', '%%PORT_other%%'));
  node.srv.signal('SIGHUP');
  await node.srv.waitForLog(/(reconfigured[^]*){2}/);
  for (const connection of connections) connection.send(rest('/kv'));
  for (const connection of connections) t.truthy(await connection.receive(/200 OK[^]*\[\]$/));
});
