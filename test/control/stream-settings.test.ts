/** The keys of `/v1/config/` that are about `stream`: what they change for connections, and what they reject. */
import test from 'ava';
import { reply } from '../stream/reply.js';
import { errorOf } from './api-client.js';
import { freePort } from '../harness/ports.js';
import { shared } from '../harness/scope.js';
import { startNode, type Node, type NodeOptions } from './node.js';

const LOADED = ['map', 'proxy_pass'].map((name) => `load_module modules/srv_stream_dyn_${name}_module.so;`).join('\n');
const TRANSACTIONS = 'load_module modules/srv_http_transactions_api_module.so;';
const NAMES = ['one', 'two', 'map', 'pass', 'named'] as const;
type Ports = Readonly<Record<(typeof NAMES)[number], number>>;

const optionsFor = ({ one, two, map, pass, named }: Ports): NodeOptions => ({
  main: `${LOADED}
    stream {
      map $remote_addr $routed { 127.0.0.2 two; default "none of $remote_addr"; }
      upstream first { zone first 256k; server 127.0.0.1:${one}; }
      upstream second { zone second 256k; server 127.0.0.1:${two}; }
      server { listen 127.0.0.1:${one}; return one; }
      server { listen 127.0.0.1:${two}; return two; }
      server { listen 127.0.0.1:${map}; return "$routed"; }
      server { listen 127.0.0.1:${pass}; proxy_pass first; }
      server { listen 127.0.0.1:${named}; server_name a.example; proxy_pass first; }
      server { listen 127.0.0.1:${named}; server_name b.example; proxy_pass first; }
    }`,
  controlMain: `${LOADED} ${TRANSACTIONS}`,
  http: '',
  server: 'return 204;',
});
/** The node, and the ports that it has also after another start. */
const started = shared(async (scope) => {
  const reserved = await Promise.all(NAMES.map(async (name) => [name, await freePort(scope)] as const));
  const ports = Object.fromEntries(reserved) as Ports;
  return { ports, node: await startNode(scope, { ...optionsFor(ports), allowCrashes: true }) };
});
const node = async (): Promise<Node> => (await started()).node;

const at = async (name: keyof Ports): Promise<string> => `127.0.0.1:${(await started()).ports[name]}`;
const ask = async (name: keyof Ports, from = '127.0.0.1'): Promise<string> => reply((await started()).ports[name], { from });

/** Sets where the connections of a server go. */
async function pass(name: keyof Ports, to: unknown, more: object = {}) {
  const one = await node();
  return one.call('PUT', '/config/stream_proxy_pass', { servers: [{ listens: [await at(name)], proxy_pass: to, ...more }] });
}

test.serial('stream_dyn_map: maps are shown, changed and added', async (t) => {
  const one = await node();
  const { json: before } = await one.call('GET', '/config/stream_dyn_map');
  t.deepEqual(before, {
    maps: [
      {
        keyFrom: '$remote_addr',
        keyTo: '$routed',
        values: [
          { valueFrom: '127.0.0.2', valueTo: 'two' },
          { valueFrom: 'default', valueTo: 'none of $remote_addr' },
        ],
        isVolatile: false,
        hostnames: false,
      },
    ],
  });
  t.is(await ask('map'), 'none of 127.0.0.1');
  const maps = [{ keyTo: '$routed', values: [{ valueFrom: '~^127\\.0\\.0\\.(\\d)$', valueTo: 'last $1 $other' }] }];
  const added = [{ keyFrom: '$protocol', keyTo: '$other', type: 'add', values: [{ valueFrom: 'tcp', valueTo: 'over tcp' }] }];
  const dry = await one.call('PUT', '/config/stream_dyn_map?dry_run=true', { maps: [...added, ...maps] });
  t.is(dry.status, 200, dry.body);
  t.is(await ask('map'), 'none of 127.0.0.1');
  const set = await one.call('PUT', '/config/stream_dyn_map', { maps: [...added, ...maps] });
  t.is(set.status, 200, set.body);
  t.is(await ask('map', '127.0.0.7'), 'last 7 over tcp');
});

test.serial('stream_dyn_map: variables of requests are none of connections', async (t) => {
  const one = await node();
  const wrong = await one.call('PUT', '/config/stream_dyn_map', { maps: [{ keyFrom: '$uri', keyTo: '$x', values: [] }] });
  t.is(wrong.status, 400);
  t.is(errorOf(wrong).code, 'ConfigError');
  t.regex(wrong.body, /unknown .*uri.* variable/);
});

test.serial('stream_proxy_pass: a server passes its connections to another upstream', async (t) => {
  const [one, listen] = [await node(), await at('pass')];
  t.is(await ask('pass'), 'one');
  t.is((await pass('pass', 'second')).status, 200);
  t.is(await ask('pass'), 'two');
  const { servers } = (await one.call('GET', '/config/stream_proxy_pass')).json as { servers: { listens: string[] }[] };
  t.deepEqual(
    servers.find(({ listens }) => listens.includes(listen)),
    { listens: [listen], serverNames: [''], proxy_pass: 'second' } as object,
  );
  t.is((await pass('pass', await at('one'))).status, 200);
  t.is(await ask('pass'), 'one');
});

test.serial('stream_proxy_pass: servers of one address by their names', async (t) => {
  const one = await node();
  t.is((await pass('named', 'second', { serverNames: ['b.example'] })).status, 200);
  const { servers } = (await one.call('GET', '/config/stream_proxy_pass')).json as {
    servers: { serverNames: string[]; proxy_pass: string }[];
  };
  const named = servers.filter(({ serverNames }) => serverNames[0] !== '');
  t.deepEqual(
    named.map(({ serverNames: [name], proxy_pass: to }) => `${name} ${to}`),
    ['a.example first', 'b.example second'],
  );
});

for (const [to, what] of [
  ['$remote_addr:80', 'variables'],
  ['unix:/run/x.sock', 'a socket of the machine'],
  ['second; return x', 'more than a word'],
] as const)
  test.serial(`stream_proxy_pass: ${what} is rejected with its place`, async (t) => {
    const wrong = await pass('pass', to);
    t.is(wrong.status, 400, wrong.body);
    t.is(errorOf(wrong).code, 'InvalidField');
    t.regex(wrong.body, /\/servers\/0\/proxy_pass/);
  });

test.serial('stream_proxy_pass: an address without a port, and a server that is not there', async (t) => {
  const wrong = await pass('pass', '127.0.0.1');
  t.is(errorOf(wrong).code, 'ConfigError', wrong.body);
  const one = await node();
  const missing = await one.call('PUT', '/config/stream_proxy_pass', { servers: [{ listens: ['127.0.0.1:1'], proxy_pass: 'first' }] });
  t.is(missing.status, 404);
  t.is(errorOf(missing).code, 'ServerNotFound');
  const unnamed = await pass('named', 'first', { serverNames: ['c.example'] });
  t.is(errorOf(unnamed).code, 'ServerNotFound');
});

test.serial('both in one transaction', async (t) => {
  const one = await node();
  const changed = await one.call('POST', '/transactions', {
    calls: [
      {
        method: 'PUT',
        path: '/v1/config/stream_dyn_map',
        body: { maps: [{ keyTo: '$routed', values: [{ valueFrom: 'default', valueTo: 'joint' }] }] },
      },
      { method: 'PUT', path: '/v1/config/stream_proxy_pass', body: { servers: [{ listens: [await at('pass')], proxy_pass: 'second' }] } },
    ],
  });
  t.is(changed.status, 200, changed.body);
  t.is(await ask('map'), 'joint');
  t.is(await ask('pass'), 'two');
});

test.serial('changes survive kill -9', async (t) => {
  const one = await node();
  t.is((await pass('pass', 'second')).status, 200);
  const keys = ['stream_dyn_map', 'stream_proxy_pass'];
  const before = await Promise.all(keys.map(async (key) => (await one.call('GET', `/config/${key}`)).json));
  process.kill(one.srv.pid, 'SIGKILL');
  await one.srv.exited;
  const { ports } = await started();
  const again = await startNode(t, { ...optionsFor(ports), prefix: one.srv.prefix });
  t.deepEqual(await Promise.all(keys.map(async (key) => (await again.call('GET', `/config/${key}`)).json)), before);
  t.is(await ask('pass'), 'two');
});
