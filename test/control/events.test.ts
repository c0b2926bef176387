import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import test from 'ava';
import { get } from '../harness/client.js';
import { selfSigned } from '../harness/certificate.js';
import { plugin } from '../harness/plugins.js';
import { findProgram } from '../harness/programs.js';
import { waitFor } from '../harness/wait.js';
import { errorOf } from './api-client.js';
import { followEvents, mosquittoSub } from './event-client.js';
import { sharedNode } from './node.js';

/** Publishes events of its own in the worker that serves a request, and can break that worker. */
const ACME = plugin('acme', {
  imports: `import { Events } from 'srv/module/events.js';`,
  manifest: `api: '1.2', directives: { acme: directive({ in: ['location'] }) }`,
  body: `
    static services = [Events];
    constructor(events) { this.events = events; }
    compile({ conf }) {
      if (conf.acme !== true) return undefined;
      return { content: (request) => {
        const { args, uri } = request;
        if (uri === '/crash') { setTimeout(() => { throw new Error('acme is broken'); }, 0); return request.send(200, 'x'); }
        try {
          const count = uri === '/many' || uri === '/flood' ? Number(args) : 1;
          for (let n = 0; n < count; n++) this.events.publish(uri === '/type' ? args : 'acme.pool.empty', { pool: args, n, pad: uri === '/many' ? 'x'.repeat(12_000) : '' }, ['a/b+c', args]);
          return request.send(200, 'told');
        } catch (error) { return request.send(200, error.message); }
      } };
    }`,
});

const mosquittoTest = findProgram('mosquitto_sub') === undefined ? test.serial.skip : test.serial;
const tls = selfSigned('tls.example');
const shared = sharedNode({
  allowCrashes: true,
  main: 'node_name here-1; load_module modules/srv_http_events_module.so; load_module modules/acme.js;',
  server: `location / { acme; } location /demo { proxy_pass http://demo; } location /lone { proxy_pass http://lone; }`,
  http: `
    upstream demo { zone demo 256k; server 127.0.0.1:%%PORT_member%% fail_timeout=1ms; server 127.0.0.1:1 down; }
    upstream lone { server 127.0.0.1:%%PORT_none%%; server 127.0.0.1:%%PORT_nobody%%; }
    server { listen 127.0.0.1:%%PORT_tls%% ssl; server_name tls.example; ssl_certificate tls.pem; ssl_certificate_key tls.key; }
    server { listen 127.0.0.1:%%PORT_tls%% ssl; server_name calm.example; ssl_certificate tls.pem; ssl_certificate_key tls.key; ssl_expiry_warning 1h; }`,
  controlMain: 'load_module modules/srv_http_events_api_module.so;',
  control: 'api_events_keepalive 100ms;',
  files: { 'conf/tls.pem': tls.cert, 'conf/tls.key': tls.key, 'modules/acme.js': ACME },
});

test.serial('a change is reported with its version, its origin and what it changed; a dry run and a failed change are not', async (t) => {
  const node = await shared();
  const client = await followEvents(t, node.srv.port('api'));
  t.is(client.response.statusCode, 200);
  t.is(client.response.headers['content-type'], 'text/event-stream; charset=utf-8');
  t.is(client.response.headers['cache-control'], 'no-store');
  await node.upstreams('POST', '/demo/servers/?dry_run=1', { server: '10.0.0.9:80' });
  await node.upstreams('POST', '/demo/servers/', { server: '127.0.0.1:1' });
  const { status, json } = await node.upstreams(
    'POST',
    '/demo/servers/',
    { server: '10.0.0.1:80', weight: 3 },
    { 'change-message': 'more' },
  );
  t.is(status, 201);
  const { data, id, time, node: name } = await client.event('config.changed');
  t.deepEqual([name, data['node']], ['here-1', 'here-1']);
  t.deepEqual(data['diff'], ['http / upstream demo', '+ server 10.0.0.1:80 weight=3;']);
  t.regex(String(data['origin']), /^[0-9a-f]{32}$/);
  t.is(data['actor'], 'anonymous');
  t.is(data['message'], 'more');
  t.true(Math.abs(Date.parse(time) - Date.now()) < 60_000);
  t.true(client.text.includes(`id: ${id}\nevent: config.changed\ndata: {"id":"${id}"`));
  await node.upstreams('DELETE', `/demo/servers/${(json as { id: number }).id}`);
  const removed = await client.event('config.changed', { version: Number(data['version']) + 1 });
  t.deepEqual(removed.data['diff'], ['http / upstream demo', '- server 10.0.0.1:80 weight=3;']);
  t.false('message' in removed.data);
  t.is(client.events.length, 2);
});

test.serial('a long change is reported in part', async (t) => {
  const node = await shared();
  const client = await followEvents(t, node.srv.port('api'));
  const members = await node.members();
  await node.upstreams('PUT', '/demo/servers/', [
    ...members,
    ...Array.from({ length: 100 }, (_, n) => ({ server: `10.0.1.${n}:80`, down: true })),
  ]);
  const { data } = await client.event('config.changed');
  t.is((data['diff'] as string[]).length, 20);
  t.false(data['complete']);
  await node.upstreams('PUT', '/demo/servers/', members);
});

test.serial('the state of a member is reported with the reason, whoever has changed it', async (t) => {
  const node = await shared();
  const client = await followEvents(t, node.srv.port('api'), '?types=member.state');
  const server = `127.0.0.1:${node.srv.port('member')}`;
  const [, other] = await node.members();
  const path = `/demo/servers/${other!.id}`;
  await node.upstreams('PATCH', path, { down: false });
  t.like((await client.event('member.state', { state: 'up' })).data, {
    upstream: 'demo',
    id: other!.id,
    server: '127.0.0.1:1',
    previous: 'down',
    reason: 'its settings were changed',
  });
  await node.upstreams('PATCH', path, { drain: true });
  t.is((await client.event('member.state', { state: 'draining' })).data['previous'], 'up');
  await node.upstreams('PATCH', path, { drain: false });

  for (let n = 0; n < 4; n++) await get(node.srv.port('web'), '/demo');
  const failed = await client.event('member.state', { state: 'unavail', server });
  t.is(failed.data['previous'], 'up');
  t.regex(String(failed.data['reason']), /111: Connection refused.*while connecting to upstream/);
  t.false('worker' in failed.data);

  const backend = createServer((_, response) => response.end('fine')).listen(node.srv.port('member'), '127.0.0.1');
  t.teardown(() => backend.close());
  await once(backend, 'listening');
  await waitFor('a response', async () => (await get(node.srv.port('web'), '/demo')).body === 'fine');
  t.like((await client.event('member.state', { state: 'up', server })).data, { previous: 'unavail', reason: 'a request succeeded' });
  // It stays unavailable, and that is told once.
  t.is(client.events.filter(({ data }) => data['server'] === '127.0.0.1:1' && data['state'] === 'unavail').length, 1);
  t.true(client.events.every(({ type }) => type === 'member.state'));
  backend.closeAllConnections();
  backend.close();
  await node.upstreams('PATCH', path, { down: true });
});

test.serial('without a zone the state is that of one worker', async (t) => {
  const node = await shared();
  const client = await followEvents(t, node.srv.port('api'), '?types=member.*');
  await get(node.srv.port('web'), '/lone');
  const { data } = await client.event('member.state', { upstream: 'lone', state: 'unavail' });
  t.regex(String(data['worker']), /^[01]$/);
});

test.serial('a module publishes events of its own from a worker; invalid ones are rejected', async (t) => {
  const node = await shared();
  const client = await followEvents(t, node.srv.port('api'), '?types=other.thing,acme.*');
  await get(node.srv.port('web'), '/?p1');
  t.is((await client.event('acme.pool.empty', { pool: 'p1' })).data['n'], 0);
  t.regex((await get(node.srv.port('web'), '/type?Acme')).body, /must be like "acme.pool.empty"/);
  t.regex((await get(node.srv.port('web'), '/type?acme')).body, /must be like "acme.pool.empty"/);
});

test.serial('a client that comes back gets what it missed; without its event it hears of a gap and gets all there is', async (t) => {
  const node = await shared();
  const port = node.srv.port('api');
  const first = await followEvents(t, port);
  await get(node.srv.port('web'), '/?seen');
  const { id = '' } = await first.event('acme.pool.empty', { pool: 'seen' });
  first.close();
  await get(node.srv.port('web'), '/?missed');
  const second = await followEvents(t, port, '', { 'Last-Event-ID': id });
  await second.event('acme.pool.empty', { pool: 'missed' });
  t.is(second.events.filter(({ type }) => type === 'acme.pool.empty').length, 1);
  const third = await followEvents(t, port, `?last_event_id=${id}`);
  await third.event('acme.pool.empty', { pool: 'missed' });
  t.false(third.text.includes('event: gap'));

  const stranger = await followEvents(t, port, '?types=server.started,certificate.expiring', { 'Last-Event-ID': 'abc-1' });
  const gap = await stranger.event('gap');
  t.is(gap.data['after'], 'abc-1');
  await stranger.event('server.started');
});

test.serial('a certificate that ends soon is told of when it takes effect', async (t) => {
  const node = await shared();
  const client = await followEvents(t, node.srv.port('api'), '?types=certificate.*', { 'Last-Event-ID': 'x' });
  const { data } = await client.event('certificate.expiring');
  t.like(data, { server_names: ['tls.example'], subject: 'CN=tls.example', days_left: 0, expired: false });
  t.true(Date.parse(String(data['not_after'])) > Date.now());
  t.is(client.events.filter(({ type }) => type === 'certificate.expiring').length, 1);
});

test.serial('comments keep the connection alive, and move the id past events that are not wanted', async (t) => {
  const node = await shared();
  const client = await followEvents(t, node.srv.port('api'), '?types=no.such');
  await get(node.srv.port('web'), '/?unwanted');
  await waitFor('two comments', () => client.text.split(': keep-alive\n').length > 2);
  const after = await followEvents(t, node.srv.port('api'), '', { 'Last-Event-ID': client.lastId });
  await waitFor('a comment', () => after.text.includes(': keep-alive\n'));
  t.deepEqual(after.events, []);
});

test.serial('wrong calls, HEAD, and more clients than there may be', async (t) => {
  const node = await shared();
  const port = node.srv.port('api');
  const { code, text } = errorOf(await get(port, '/api/v1/events?types=,x'));
  t.deepEqual([code, text], ['InvalidField', '?types: must be types of events separated by commas, such as config.changed,acme.*']);
  t.is((await get(port, '/api/v1/events', { method: 'HEAD' })).status, 200);
  t.is((await get(port, '/api/v1/events', { method: 'POST' })).status, 405);
  t.is(errorOf(await get(port, '/api/v1/events?fields=id')).code, 'InvalidField');
  // All at once: each is counted before anything is asked for it.
  const all = await Promise.all(Array.from({ length: 200 }, () => followEvents(t, port)));
  const clients = all.filter(({ response }) => response.statusCode === 200);
  t.true(clients.length > 50 && clients.length <= 100, String(clients.length));
  t.is(errorOf(await get(port, '/api/v1/events')).code, 'TooManyStreams');
  for (const client of clients) client.close();
  await waitFor('room', async () => {
    const client = await followEvents(t, port);
    const { statusCode } = client.response;
    client.close();
    return statusCode === 200;
  });
});

test.serial('a client that does not read is cut off with a reason, others get everything', async (t) => {
  const node = await shared();
  const port = node.srv.port('api');
  const quick = await followEvents(t, port, '?types=acme.*');
  const slow = await followEvents(t, port, '?types=acme.*');
  slow.response.pause();
  for (let round = 1; round <= 3; round++) {
    await get(node.srv.port('web'), '/many?1000');
    await waitFor('all events', () => quick.events.length === round * 1000);
  }
  slow.response.resume();
  const { data } = await slow.event('cut');
  t.regex(String(data['reason']), /^too slow/);
  await waitFor('the end', () => slow.ended);
  t.is(quick.events.at(-1)?.data['n'], 999);
  t.false(quick.ended);
  const back = await followEvents(t, port, '', { 'Last-Event-ID': slow.lastId });
  await back.event('gap', { after: slow.lastId });
});

test.serial('of more events than anybody can follow the rest is left out, and counted', async (t) => {
  const node = await shared();
  const client = await followEvents(t, node.srv.port('api'), '?types=events.dropped');
  await get(node.srv.port('web'), '/flood?9000');
  const { data } = await client.event('events.dropped');
  t.true(Number(data['count']) > 4000 && Number(data['count']) < 9000);
});

mosquittoTest('mosquitto_sub reads what is kept and what comes, and can do nothing else', async (t) => {
  const node = await shared();
  const folder = node.srv.path('data/events');
  t.is(statSync(`${folder}/mosquitto_sub`).mode & 0o777, 0o600);
  await get(node.srv.port('web'), '/?kept');
  const sub = mosquittoSub(
    t,
    folder,
    '-t',
    'srv/events/acme.pool.empty/#',
    '-t',
    'srv/events/config.changed',
    '-t',
    'srv/events/member.state/demo/+',
  );
  const payload = (topic: string): { data: Record<string, unknown> } | undefined => {
    const line = sub.stdout.split('\n').findLast((text) => text.startsWith(`${topic} {`));
    return line === undefined ? undefined : (JSON.parse(line.slice(topic.length + 1)) as { data: Record<string, unknown> });
  };
  t.is((await waitFor('what is kept', () => payload('srv/events/acme.pool.empty/a%2fb%2bc/kept'))).data['pool'], 'kept');
  const { json } = await node.upstreams('POST', '/demo/servers/', { server: '10.0.7.1:80' });
  await waitFor('the change', () => sub.stdout.includes('+ server 10.0.7.1:80;'));
  const { id } = json as { id: number };
  await node.upstreams('PATCH', `/demo/servers/${id}`, { down: true });
  const topic = 'srv/events/member.state/demo/10.0.7.1:80';
  t.is((await waitFor('the state', () => payload(topic))).data['state'], 'down');
  // What is gone is not kept.
  await node.upstreams('DELETE', `/demo/servers/${id}`);
  await waitFor('the end of the topic', () => sub.stdout.includes(`${topic} (null)`));

  const refused = ['#', 'srv/call/+', 'srv/reply/#', '$SYS/#'].map((filter) => mosquittoSub(t, folder, '-t', filter, '-W', '1'));
  for (const { code } of refused) await code;
  t.deepEqual(
    refused.map(({ stdout }) => stdout),
    ['', '', '', ''],
  );
  const options = node.srv
    .read('data/events/mosquitto_sub')
    .split(/\s+/)
    .filter((word) => word !== '');
  for (const retain of [[], ['-r']])
    spawnSync('mosquitto_pub', [...options, ...retain, '-t', 'srv/events/acme.pool.empty/forged', '-m', 'x'], { timeout: 5000 });
  await get(node.srv.port('web'), '/?later');
  await waitFor('a later event', () => payload('srv/events/acme.pool.empty/a%2fb%2bc/later'));
  t.false(sub.stdout.includes('forged'));
  const wrong = spawnSync('mosquitto_sub', ['--unix', options[1]!, '-u', 'events', '-P', 'wrong', '-t', 'srv/events/#', '-W', '1'], {
    encoding: 'utf8',
  });
  t.not(wrong.status, 0);
  t.is(wrong.stdout, '');
});

test.serial('a worker that fails and helpers that are killed are told of; clients go on where they were', async (t) => {
  const node = await shared();
  const port = node.srv.port('api');
  const client = await followEvents(t, port);
  await get(node.srv.port('web'), '/crash').catch(() => undefined);
  const failed = await client.event('worker.failed');
  t.regex(String(failed.data['reason']), /acme is broken/);
  t.deepEqual((await client.event('worker.restarted')).data, failed.data);

  const password = node.srv.read('data/events/mosquitto_sub');
  process.kill(node.helper('broker'), 'SIGKILL');
  t.regex(String((await client.event('helper.failed', { helper: 'broker' })).data['reason']), /exited on signal SIGKILL/);
  await client.event('helper.restarted', { helper: 'broker' });
  t.is(node.srv.read('data/events/mosquitto_sub'), password);

  const { lastId } = client;
  process.kill(node.helper('ctrl'), 'SIGKILL');
  await waitFor('the end', () => client.ended);
  await node.ready();
  const back = await followEvents(t, port, '', { 'Last-Event-ID': lastId });
  await back.event('helper.failed', { helper: 'ctrl' });
  await back.event('helper.restarted', { helper: 'ctrl' });
  t.false(back.text.includes('event: gap'));
});

mosquittoTest('mosquitto_sub gets what was told before the broker was killed', async (t) => {
  const node = await shared();
  const sub = mosquittoSub(t, node.srv.path('data/events'), '-t', 'srv/events/server.started');
  await t.notThrowsAsync(waitFor('the event', () => sub.stdout.startsWith('srv/events/server.started {"id":')));
});
