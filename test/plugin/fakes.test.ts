/** `srv/testing`: what is in for the services of a module in its unit tests. */
import test from 'ava';
import { flag, number, optional, template, text } from '../../core/contract/args.js';
import type { Balancer, UpstreamPeer } from '../../core/contract/balancer.js';
import type { HttpHandlers, Scope } from '../../core/contract/http.js';
import { httpModule } from '../../core/contract/manifest.js';
import { directive } from '../../core/contract/spec.js';
import { ApiError, type ActionContext } from '../../core/contract/control.js';
import type { Edit } from '../../core/contract/transactions.js';
import { FakeDataPlane } from '../../testing/data-plane.js';
import { FakeControlPlaneGuard, FakeHostNames } from '../../testing/host-names.js';
import { FakeKeyValue } from '../../testing/key-value.js';
import { FakeLog } from '../../testing/log.js';
import { FakeLogFiles } from '../../testing/log-files.js';
import { FakeServerInfo } from '../../testing/server-info.js';
import { FakeStatistics } from '../../testing/statistics.js';
import { FakeTransactions } from '../../testing/transactions.js';
import { FakeUpstreams } from '../../testing/upstreams.js';
import { FakeUpstream } from '../../testing/balancer.js';
import { FakeEvents } from '../../testing/events.js';
import { fakeMetrics } from '../../testing/metrics.js';
import { fakeRequest } from '../../testing/request.js';
import { fakeScope } from '../../testing/scope.js';
import { FakeTasks } from '../../testing/tasks.js';
import { FakeZones } from '../../testing/zones.js';

const directives = {
  greet: directive({ in: ['location'], args: { whom: template(), times: optional(number(), 1) }, default: '$arg_name' }),
  tags: directive({ in: ['location'], args: text(), many: true }),
  polite: directive({ in: ['location'], args: flag() }),
};

class Greeting {
  compile(scope: Scope<typeof directives>): HttpHandlers {
    const { greet, tags, polite } = scope.conf;
    return { content: (request) => request.send(200, [greet.whom.of(request), greet.times, tags, polite, scope.own('greet')].join()) };
  }
}
httpModule({ name: 'greeting', api: 1, directives })(Greeting);

/** What the module responds with in a scope. */
function respond(scope: Scope<typeof directives>): string | undefined {
  const request = fakeRequest({ variables: { arg_name: 'ada' } });
  void new Greeting().compile(scope).content?.(request);
  return request.sent?.body;
}

test('a scope has the defaults that the module declares', (t) => {
  t.is(respond(fakeScope(Greeting)), 'ada,1,,,false');
});

test('a scope has what the test gives in their place', (t) => {
  t.is(respond(fakeScope(Greeting, { tags: ['a', 'b'], polite: true })), 'ada,1,a,b,true,false');
  const { greet } = fakeScope(Greeting).conf;
  t.is(respond(fakeScope(Greeting, { greet: { ...greet, times: 3 } })), 'ada,3,,,true');
});

test('tasks run when the test lets the time pass, in their order', async (t) => {
  const tasks = new FakeTasks();
  const done: string[] = [];
  const say = (text: string) => (): void => void done.push(`${text} at ${tasks.now}`);
  tasks.after(50, say('once'));
  const often = tasks.every(20, say('often'));
  const never = tasks.after(60, say('never'));
  never.cancel();
  await tasks.pass(59);
  t.deepEqual(done, ['often at 20', 'often at 40', 'once at 50']);
  await tasks.pass(1);
  often.cancel();
  await tasks.pass(1000);
  t.deepEqual(done.slice(3), ['often at 60']);
  t.is(tasks.waiting, 0);
});

test('what the work of a task throws fails the test', async (t) => {
  const tasks = new FakeTasks();
  tasks.after(1, () => Promise.reject(new Error('late')));
  await t.throwsAsync(tasks.pass(1), { message: 'late' });
  tasks.run(() => Promise.reject(new Error('now')));
  await t.throwsAsync(tasks.settled(), { message: 'now' });
});

test('the end of the module cancels its tasks and aborts their signal', async (t) => {
  const tasks = new FakeTasks();
  tasks.after(1, () => t.fail());
  tasks.stop();
  await tasks.pass(10);
  t.true(tasks.signal.aborted);
});

test('records expire when the test says what time it is', (t) => {
  const zones = new FakeZones();
  const zone = { name: 'visits', size: 65_536 };
  const records = zones.records(zone, { fields: ['count'], ttl: 1000 });
  t.is(records.add('a', 'count', 2), 2);
  t.is(zones.records(zone, { fields: ['count'], ttl: 1000 }).get('a')?.count, 2, 'the same zone');
  zones.now += 1001;
  t.is(records.get('a'), undefined);
});

test('holds count up to their limit', (t) => {
  const holds = new FakeZones().holds({ name: 'held', size: 65_536 });
  t.deepEqual([holds.acquire('a', 1), holds.acquire('a', 1)], ['held', 'rejected']);
  holds.release('a');
  t.is(holds.count('a'), 0);
});

test('metrics count', (t) => {
  const metrics = fakeMetrics();
  metrics.counter('acme_hits_total', { zone: 'one' }).add(3);
  metrics.gauge('acme_open').set(2);
  t.deepEqual(
    metrics.read().map(({ name, labels, value }) => [name, labels, value]),
    [
      ['acme_hits_total', { zone: 'one' }, 3],
      ['acme_open', {}, 2],
    ],
  );
});

/** The member with the fewest requests. */
class Fewest implements Balancer {
  readonly #peers = new Set<UpstreamPeer>();

  added(peer: UpstreamPeer): void {
    this.#peers.add(peer);
  }

  removed(peer: UpstreamPeer): void {
    this.#peers.delete(peer);
  }

  propose(): UpstreamPeer | undefined {
    const usable = [...this.#peers].filter(({ isUsable }) => isUsable);
    return usable.sort((one, other) => one.active - other.active)[0];
  }
}

test('a balancing method chooses among members whose load the test sets', (t) => {
  const upstream = new FakeUpstream({ create: () => new Fewest() });
  const busy = upstream.add({ active: 5 });
  const idle = upstream.add({ active: 1 });
  t.is(upstream.pick(), idle);
  upstream.change(idle, { isUsable: false });
  t.is(upstream.pick(), busy);
  upstream.remove(busy);
  t.is(upstream.pick(), undefined);
});

test('where a method proposes nothing, it is the next member in turn, backup members last', (t) => {
  const upstream = new FakeUpstream({});
  const [one, two, backup] = [upstream.add({ weight: 2 }), upstream.add(), upstream.add({ backup: true })];
  t.deepEqual([upstream.pick(), upstream.pick(), upstream.pick()], [one, two, one]);
  t.is(upstream.pick(undefined, [one, two]), backup);
  t.is(upstream.totalWeight, 3);
  t.deepEqual(
    [0, 1, 2, 3].map((point) => upstream.peerAtWeight(point)),
    [one, one, two, undefined],
  );
});

test('events are kept as they would leave the server, and invalid ones are rejected', (t) => {
  const events = new FakeEvents();
  events.publish('acme.pool.empty', { pool: 'a', since: new Date(0) }, ['a']);
  events.forget('acme.pool.empty', ['a']);
  const told = { type: 'acme.pool.empty', subject: ['a'] };
  t.deepEqual(events.published, [{ ...told, data: { pool: 'a', since: '1970-01-01T00:00:00.000Z' } }]);
  t.deepEqual(events.forgotten, [told]);
  t.throws(() => events.publish('Acme', {}), { instanceOf: TypeError });
});

test('the log keeps lines of the levels that are written', (t) => {
  const [log, errors] = [new FakeLog(), new FakeLog(['error'])];
  for (const each of [log, errors]) {
    each.write('error', 'broken');
    each.write('info', 'began');
  }
  t.deepEqual([log.lines, errors.lines], [['[error] broken', '[info] began'], ['[error] broken']]);
  t.false(errors.enabled('info'));
});

test('pairs have versions, expire by the clock of the test, and are limited by the settings', async (t) => {
  const pairs = new FakeKeyValue({ a: 'one' });
  const version = pairs.version('a') ?? '';
  await pairs.set('a', 'two', { ifMatch: `"${version}"`, ttl: 1000 });
  t.deepEqual([pairs.get('a'), pairs.ttl('a')], ['two', 1000]);
  await t.throwsAsync(pairs.set('a', 'three', { ifMatch: `"${version}"` }), { message: /has changed/ });
  pairs.now += 1000;
  t.deepEqual([pairs.get('a'), pairs.version('a'), await pairs.delete('a')], [undefined, undefined, false]);
  for (const key of ['c', 'ba', 'b']) await pairs.set(key, key);
  await pairs.set('never', 'x', { dryRun: true });
  t.like(pairs.list({ prefix: 'b', limit: 1 }), { pairs: [{ key: 'b', value: 'b' }], more: true });
  t.like(pairs.list({ after: 'b', limit: 9 }), { pairs: [{ key: 'ba' }, { key: 'c' }], more: false });
  pairs.configure({ folder: undefined, maxSize: 8, maxKey: 2, maxValue: 4 });
  await t.throwsAsync(pairs.set('key', ''), { message: /longer than 2 bytes/ });
  await t.throwsAsync(pairs.set('k', 'value'), { message: /longer than 4 bytes/ });
  await t.throwsAsync(pairs.set('d', 'd!!'), { message: /is full/ });
  t.is(await pairs.clear(), 3);
});

test('the server is a worker, or what the test says', (t) => {
  const info = new FakeServerInfo({ role: 'master', worker: -1, prefix: '/opt/srv' });
  t.deepEqual([info.role, info.worker, info.path('logs/a')], ['master', -1, '/opt/srv/logs/a']);
  t.deepEqual(info.secret('tickets', 48), new FakeServerInfo().secret('tickets', 48));
  t.is(info.secret('tickets', 48).length, 48);
  info.leave();
  t.true(info.leaving.aborted);
});

test('log files keep their lines, and say which are open', (t) => {
  const files = new FakeLogFiles(['/none/a']);
  const file = files.open('/a');
  file.write('one\n');
  t.deepEqual([files.lines('/a'), files.opened()], [['one\n'], ['/a']]);
  file.close();
  t.deepEqual(files.opened(), []);
  t.throws(() => files.open('/none/a'), { message: 'open() "/none/a" failed (2: No such file or directory)' });
  files.named().write('/b', 'two');
  t.deepEqual(files.lines('/b'), ['two']);
});

test('the data plane replies as the test says, as JSON, and keeps the calls', async (t) => {
  const dataPlane = new FakeDataPlane({
    'acme.sum': (params) => ({ at: new Date(0), params }),
    'acme.fails': () => Promise.reject(new Error('no')),
  });
  const context = { requestId: 'a', dryRun: false, actor: 'ada' } as ActionContext;
  t.deepEqual(await dataPlane.call('acme.sum', [1, 2], context), { at: '1970-01-01T00:00:00.000Z', params: [1, 2] });
  await t.throwsAsync(dataPlane.call('acme.fails', {}, context), { message: 'no' });
  await t.throwsAsync(dataPlane.call('acme.none', {}, context), { instanceOf: ApiError, message: /no module that serves "acme.none"/ });
  t.deepEqual(
    dataPlane.calls.map(({ action, params }) => [action, params]),
    [
      ['acme.sum', [1, 2]],
      ['acme.fails', {}],
      ['acme.none', {}],
    ],
  );
});

test('hosts have the addresses of the test, and the control plane is where the test says', async (t) => {
  const names = new FakeHostNames({ 'a.example': ['192.0.2.1'] });
  t.deepEqual(await names.resolve('a.example'), ['192.0.2.1']);
  await t.throwsAsync(names.resolve('b.example'), { message: 'b.example could not be resolved (3: Host not found)' });
  t.deepEqual(names.asked, ['a.example', 'b.example']);
  const guard = new FakeControlPlaneGuard([8000]);
  t.regex(guard.rejection({ host: '127.0.0.1', port: 8000 }) ?? '', /127\.0\.0\.1:8000/);
  t.is(guard.rejection({ host: '127.0.0.1', port: 80 }), undefined);
});

test('statistics are what the test sets', (t) => {
  const statistics = new FakeStatistics();
  statistics.requests = 5;
  statistics.workers.push({ requests: 3 });
  t.deepEqual([statistics.requests, statistics.accepted, statistics.ofWorker(0).requests, statistics.ofWorker(1).active], [5, 0, 3, 0]);
});

test('transactions change a configuration, and upstreams follow it', async (t) => {
  const transactions = new FakeTransactions(
    'http { upstream shop { zone shop 64k; server 10.0.0.1 weight=2; server 10.0.0.2:81 backup; } }',
  );
  const upstreams = new FakeUpstreams(transactions);
  upstreams.figures.set('10.0.0.1', { active: 3 });
  const shop = upstreams.get('shop');
  t.like(
    [...(shop?.peers ?? [])],
    [
      { server: '10.0.0.1:80', weight: 2, active: 3, state: 'up' },
      { server: '10.0.0.2:81', backup: true },
    ],
  );
  const [first, second] = [...(shop?.directive.block?.named('server') ?? [])];
  if (shop === undefined || first === undefined || second === undefined) return t.fail('the members are missing');
  const version = transactions.versionOf(shop.directive);
  const edits = (): readonly Edit[] => [
    { op: 'replace', target: first, text: 'server 10.0.0.1 drain;' },
    { op: 'remove', target: second },
    { op: 'add', parent: shop.directive, text: { name: 'server', words: ['10.0.0.3', 'a b'] } },
  ];
  const tried = await transactions.apply(edits, { dryRun: true });
  t.deepEqual([tried.diff[1], transactions.version, transactions.applied], ['+ server 10.0.0.1 drain;', 1, []]);
  const { directives } = await transactions.apply(edits);
  t.is(transactions.text, 'http { upstream shop { zone shop 64k; server 10.0.0.1 drain; server 10.0.0.3 "a b"; } }');
  t.deepEqual([transactions.version, transactions.versionOf(shop.directive) === version], [2, false]);
  t.deepEqual(
    directives.map((directive) => transactions.isAddition(directive)),
    [false, false, true],
  );
  t.deepEqual(
    Array.from(upstreams.get('SHOP')?.peers ?? [], ({ id, state }) => [id, state]),
    [
      [first.id, 'draining'],
      [directives[2]?.id, 'up'],
    ],
  );
  upstreams.get('shop')?.resetStatistics();
  t.deepEqual(upstreams.resets, ['shop']);
  await t.throwsAsync(transactions.apply(() => [{ op: 'add', parent: shop.directive, text: 'server a; } events {' }]));
  t.throws(() => new FakeTransactions('http {'));
});

test('a space of the key-value store has keys of its own, and what is watched is told', async (t) => {
  const pairs = new FakeKeyValue({ 'acme/old': '1', other: '2' });
  const space = pairs.space('acme');
  const told: string[] = [];
  const watch = space.watch('n', (key, value) => void told.push(`${key}=${value}`));
  await space.set('new', '3');
  await pairs.set('new', '4');
  await space.set('elsewhere', '5');
  t.is(pairs.get('acme/new'), '3');
  t.deepEqual(space.list({ limit: 9 }).pairs, [
    { key: 'elsewhere', value: '5' },
    { key: 'new', value: '3' },
    { key: 'old', value: '1' },
  ]);
  t.deepEqual(space.list({ limit: 9, after: 'elsewhere', prefix: 'o' }).pairs, [{ key: 'old', value: '1' }]);
  t.is(await space.clear(), 3);
  watch.end();
  await space.set('next', '6');
  t.deepEqual(told, ['new=3', 'new=undefined']);
  t.is(pairs.get('other'), '2');
  t.throws(() => pairs.space('a/b'), { instanceOf: RangeError });
});

test('a request has the variables that follow from it, unless the test has others', (t) => {
  const headers = { 'X-Name': 'ada', Cookie: 'a=1; id=5' };
  const connection = { remoteAddress: '10.0.0.9', secure: true };
  const request = fakeRequest({ method: 'PUT', uri: '/a', args: 'x=1&y=2', headers, connection, variables: { host: 'other' } });
  const expected = {
    uri: '/a',
    args: 'x=1&y=2',
    is_args: '?',
    request_uri: '/a?x=1&y=2',
    request: 'PUT /a?x=1&y=2 HTTP/1.1',
    arg_y: '2',
    arg_z: undefined,
    http_x_name: 'ada',
    cookie_id: '5',
    remote_addr: '10.0.0.9',
    scheme: 'https',
    host: 'other',
    toString: undefined,
  };
  for (const [name, value] of Object.entries(expected)) t.is(request.variable(name), value, name);
  request.rewrite('/b', '');
  t.is(`${request.variable('uri')}${request.variable('is_args')}`, '/b');
});
