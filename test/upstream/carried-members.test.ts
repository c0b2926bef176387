import test from 'ava';
import { TestNode } from './nodes.js';

const CONF =
  'http { upstream shop { zone shop 64k; server 10.0.0.1 max_fails=1; server 10.0.0.2 max_conns=2; } upstream plain { server 10.0.0.9; } }';

/** Two programs, one after the other; the second has a place more for the first. */
async function stage() {
  const [old, next] = [new TestNode({ workers: 3 }), new TestNode({ workers: 3 })];
  await old.load(CONF);
  next.clock.now = old.clock.now;
  const give = old.master.carried.give();
  const send = (): unknown => JSON.parse(JSON.stringify(give() ?? null));
  return { old, next, send };
}

test('figures and availability of members are taken over, and what follows is added', async (t) => {
  const { old, next, send } = await stage();
  const upstream = old.upstream('shop');
  const [one, two] = [...upstream.peers] as [NonNullable<ReturnType<typeof upstream.peer>>, NonNullable<ReturnType<typeof upstream.peer>>];
  t.true(upstream.claim(one));
  upstream.free(one, true);
  t.true(upstream.claim(two));
  upstream.answered(two, 404, 7);
  const first = send();
  await next.load(CONF);
  next.master.carried.take(first);
  const views = () => [...next.master.get('shop')!.peers];
  t.like(views()[0], { server: '10.0.0.1:80', state: 'unavail', fails: 1, unavail: 1, requests: 1 });
  t.like(views()[1], { server: '10.0.0.2:80', state: 'up', active: 1, requests: 1, codes: { 404: 1 }, headerTime: 7 });
  t.deepEqual(
    Array.from({ length: 2 }, () => next.upstream('shop').pick()?.server),
    ['10.0.0.2:80', undefined],
    'the one that failed gets nothing, the other one has as many as it may, that of the program before included',
  );
  upstream.finished(two, 10, 20, 30);
  upstream.free(two, false);
  next.master.carried.take(send());
  t.like(views()[1], { active: 1, requests: 2, sent: 10, received: 20 });
  t.is(next.upstream('shop').pick()?.server, '10.0.0.2:80');
});

test('requests of the program before are given up with it', async (t) => {
  const { old, next, send } = await stage();
  const two = [...old.upstream('shop').peers][1]!;
  for (let count = 0; count < 2; count++) t.true(old.upstream('shop').claim(two));
  await next.load(CONF);
  next.master.carried.take(send());
  t.like([...next.master.get('shop')!.peers][1], { active: 2 });
  next.master.dropWorker(2);
  t.like([...next.master.get('shop')!.peers][1], { active: 0, requests: 2 });
});

test('a member with another address, or of another upstream, begins with nothing', async (t) => {
  const { old, next, send } = await stage();
  const [one] = [...old.upstream('shop').peers];
  t.true(old.upstream('shop').claim(one!));
  await next.load(CONF.replace('10.0.0.1', '10.0.0.7'));
  next.master.carried.take(send());
  t.like([...next.master.get('shop')!.peers][0], { requests: 0, active: 0 });
});
