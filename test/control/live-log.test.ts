import { get as open, type IncomingMessage } from 'node:http';
import test from 'ava';
import { connectRaw, get } from '../harness/client.js';
import { run } from '../../core/ctl/main.js';
import { waitFor } from '../harness/wait.js';
import { sharedNode, type Node } from './node.js';
import type { Scope } from '../harness/scope.js';

const shared = sharedNode({
  workers: 2,
  main: 'load_module modules/srv_http_live_log_module.so;',
  server: `server_name shop.example; location / { return 200 fine; } location /bad { return 503; } location /dead { proxy_pass http://dead; }`,
  http: 'upstream dead { server 127.0.0.1:%%PORT_none%%; }',
  controlMain: 'load_module modules/srv_http_live_log_api_module.so;',
});

type Entry = Readonly<Record<string, unknown>>;

/** A client of the live log: keeps what has come. */
class Tail {
  text = '';
  ended = false;
  constructor(readonly response: IncomingMessage) {
    response.setEncoding('utf8').on('data', (piece: string) => (this.text += piece));
    response.on('close', () => (this.ended = true)).on('error', () => undefined);
  }

  get entries(): Entry[] {
    return [...this.text.matchAll(/^data: (.*)\n\n/gm)].map(([, json = '']) => JSON.parse(json) as Entry);
  }

  entry(fields: Entry): Promise<Entry> {
    return waitFor(`entry ${JSON.stringify(fields)}`, () =>
      this.entries.find((entry) => Object.entries(fields).every(([name, value]) => entry[name] === value)),
    );
  }
}

/** Resolves when requests that begin from now on are seen. */
async function tail(t: Scope, node: Node, filter = ''): Promise<Tail> {
  const path = `/api/v1/logs/stream${filter === '' ? '' : `?filter=${encodeURIComponent(filter)}`}`;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    open({ port: node.srv.port('api'), host: '127.0.0.1', path, agent: false }, resolve).on('error', reject);
  });
  const client = new Tail(response);
  t.teardown(() => void response.destroy());
  if (response.statusCode === 200) await waitFor('the stream', () => client.text !== '');
  return client;
}

test.serial('each request is an entry with its fields, and so is each line of the error log', async (t) => {
  const node = await shared();
  const client = await tail(t, node);
  t.is(client.response.headers['content-type'], 'text/event-stream; charset=utf-8');
  await get(node.srv.port('web'), '/a?b=1', { headers: { host: 'x.example', 'user-agent': 'caf\u00e9' } });
  const {
    status,
    method,
    uri,
    host,
    server,
    client: address,
    kind,
    protocol,
    bytes,
    duration,
    upstream,
  } = await client.entry({ uri: '/a?b=1' });
  t.deepEqual([kind, status, method, uri, host], ['access', 200, 'GET', '/a?b=1', 'x.example']);
  t.deepEqual([server, address, protocol, upstream], ['shop.example', '127.0.0.1', 'HTTP/1.1', undefined]);
  t.true(Number(bytes) > 4);
  t.is(typeof duration, 'number');
  await get(node.srv.port('web'), '/dead');
  const error = await client.entry({ kind: 'error', server: 'shop.example', request: 'GET /dead HTTP/1.1' });
  t.regex(String(error['message']), /Connection refused.*while connecting to upstream$/);
  t.is(error['upstream'], `http://127.0.0.1:${node.srv.port('none')}/dead`);
  const failed = await client.entry({ status: 502, upstream: `127.0.0.1:${node.srv.port('none')}` });
  t.is(failed['request_id'], error['request_id']);
  // A line of the main thread.
  node.srv.signal('SIGHUP');
  await client.entry({ kind: 'error', level: 'notice', worker: -1 });
});

test.serial('a filter selects by fields; clients with different filters get what is theirs', async (t) => {
  const node = await shared();
  const errors = await tail(t, node, 'status>=500 client=127.0.0.0/8');
  const one = await tail(t, node, 'path=/one server=shop.example');
  const none = await tail(t, node, 'server=other.example');
  for (const path of ['/one', '/bad?x', '/two', '/one?last']) await get(node.srv.port('web'), path);
  await one.entry({ uri: '/one?last' });
  await errors.entry({ uri: '/bad?x' });
  t.deepEqual(
    one.entries.map(({ uri }) => uri),
    ['/one', '/one?last'],
  );
  t.deepEqual(
    errors.entries.map(({ status }) => status),
    [503],
  );
  t.deepEqual(none.entries, []);
});

test.serial('an invalid filter is rejected with what is allowed', async (t) => {
  const node = await shared();
  for (const [filter, reason] of [
    ['colour=red', /unknown field "colour"/],
    ['status>=many', /invalid status "many"/],
    ['time>soon', /invalid time "soon"/],
    ['client=nobody', /invalid parameter "nobody"/],
    ['server>a', /operator ">" does not apply/],
    ['level>=loud', /invalid level "loud"/],
    ['status', /invalid term "status"/],
  ] as const) {
    const { status, json } = await node.call('GET', `/logs/stream?filter=${encodeURIComponent(filter)}`);
    t.is(status, 400, filter);
    t.regex(JSON.stringify(json).replaceAll('\\', ''), reason);
  }
});

test.serial('HEAD begins no stream, and lines without a reader are not collected', async (t) => {
  const node = await shared();
  // One by one more than there are places: a stream without a reader holds none.
  for (let n = 0; n < 60; n++) t.is((await get(node.srv.port('api'), '/api/v1/logs/stream', { method: 'HEAD' })).status, 200);
  for (let n = 0; n < 3; n++) await get(node.srv.port('web'), '/unseen');
  const client = await tail(t, node);
  await get(node.srv.port('web'), '/seen');
  await client.entry({ uri: '/seen' });
  t.deepEqual(
    client.entries.map(({ uri }) => uri),
    ['/seen'],
  );
});

test.serial('lines beyond what can be shown are counted', async (t) => {
  const node = await shared();
  const client = await tail(t, node, 'path=/many');
  // More than 400 in 50 ms are not possible here: pipelined requests that one turn of the event loop serves.
  const connection = await connectRaw(t, node.srv.port('web'));
  connection.send('GET /many HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(999) + 'GET /many/last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  await waitFor(
    'all lines',
    () => client.entries.reduce((sum, { kind, count }) => sum + (kind === 'lost' ? Number(count) : 1), 0) === 1000,
  );
  t.pass();
});

test.serial('srvctl tail prints lines', async (t) => {
  const node = await shared();
  let stdout = '';
  let code: number | undefined;
  const argv = ['tail', 'status=503', '--count', '1', '--server', `http://127.0.0.1:${node.srv.port('api')}/api`];
  const surroundings = {
    env: {},
    version: '0',
    color: false,
    stdout: (text: string) => (stdout += text),
    stderr: (text: string) => t.log(text),
  };
  void run(argv, surroundings).then((result) => (code = result));
  await waitFor('a line', async () => {
    await get(node.srv.port('web'), '/bad/line');
    return code !== undefined;
  });
  t.is(code, 0);
  t.regex(stdout, /^\d\d:\d\d:\d\d\.\d{3} {2}503 {2}GET 127\.0\.0\.1\/bad\/line {2}\d+ms {2}\d+B {2}127\.0\.0\.1 {2}[0-9a-f]{32}\n$/);
});
