/** `srv/testing`: what stands in for the services of a module in its unit tests. */
import test from 'ava';
import { flag, number, optional, template, text } from '../../core/module/args.js';
import type { Balancer, UpstreamPeer } from '../../core/module/balancer.js';
import type { HttpHandlers, Scope } from '../../core/module/http.js';
import { httpModule } from '../../core/module/manifest.js';
import { directive } from '../../core/module/spec.js';
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
