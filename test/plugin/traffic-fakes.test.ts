/** `srv/testing`: what stands for members, sessions and requests of the server itself in unit tests. */
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import test from 'ava';
import type { ExchangePlan } from '../../core/contract/exchanges.js';
import { DECLINED, DONE, MalformedBody, type Template } from '../../core/contract/http.js';
import { AGAIN, STREAM_FORBIDDEN, STREAM_OK, type StreamHandler } from '../../core/contract/stream.js';
import type { Directive } from '../../core/contract/tree.js';
import { FakeExchanges, FakeRequests, FakeTunnels } from '../../testing/exchanges.js';
import { FakeNotes } from '../../testing/explain.js';
import { FakeHistory } from '../../testing/history.js';
import { fakeAttempt, FakeMemberResponse } from '../../testing/member-response.js';
import { fakeRequest } from '../../testing/request.js';
import { fakeSession } from '../../testing/session.js';
import { FakeSessionRelays } from '../../testing/stream-relays.js';
import { relayPlan } from '../../core/toolkit/relay-plan.js';
import { FakeVirtualServers } from '../../testing/virtual-servers.js';

const TARGET: Template = { constant: 'shop', of: () => 'shop' };

test('a response of a member has its fields and its body, for any number of readers', async (t) => {
  const response = new FakeMemberResponse({
    status: 201,
    headers: { 'Content-Type': 'text/plain', Vary: 'a', vary: 'b' },
    body: ['hel', 'lo'],
  });
  t.deepEqual([response.status, response.length, response.header('vary'), response.header('etag')], [201, 5, 'a, b', undefined]);
  t.deepEqual(response.headers()[0], ['Content-Type', 'text/plain']);
  const stored = response.store();
  for (let reader = 0; reader < 2; reader++) t.is(await text(stored.open()), 'hello');
  t.is(response.users, 1);
  stored.release();
  t.is(response.users, 0);
  t.throws(() => stored.release(), { message: /released already/ });
  response.discard();
  t.true(response.isDiscarded);
  const broken = new FakeMemberResponse({ body: 'he', cutOff: true });
  t.is(broken.length, -1);
  await t.throwsAsync(text(broken.store().open()), { instanceOf: MalformedBody });
  t.like(fakeAttempt({ number: 2, failure: 'refused' }), { number: 2, failure: 'refused', status: 0, connectTime: -1 });
});

test('exchanges and tunnels note what they get', (t) => {
  const exchanges = new FakeExchanges();
  const plan = { target: TARGET } as ExchangePlan;
  const handler = exchanges.compile(plan);
  const request = fakeRequest({ uri: '/a' });
  t.is(handler(request), DONE);
  t.deepEqual(exchanges.plans, [plan]);
  t.is(exchanges.taken[0]?.request, request);
  const notes = new FakeNotes();
  t.is(exchanges.explain(handler, request, notes), DONE);
  t.is(notes.ended?.text, 'passes the request to shop');
  t.throws(() => exchanges.explain(() => DONE, request, notes), { message: /was not made by "compile"/ });

  const tunnels = new FakeTunnels();
  const member = tunnels.compile({ target: TARGET } as Parameters<FakeTunnels['compile']>[0]);
  t.is(member(request), DONE);
  t.is(tunnels.taken.length, 1);
  const to = { address: '10.0.0.1', port: 443 };
  const facts = tunnels.open(request, { addresses: [to], from: undefined, connectTimeout: 1, idleTimeout: 1, head: () => undefined });
  t.deepEqual([facts.address, facts.connectTime, tunnels.opened.length], [to, -1, 1]);
});

test('requests of the server itself get what the test says', async (t) => {
  const requests = new FakeRequests({ 'http://a.test/one?x=y': { status: 200, body: 'one' }, 'http://a.test/fails': new Error('cut off') });
  const { status, body, request } = await requests.send('http://a.test/one?x=y', { method: 'PUT' });
  t.deepEqual([status, String(body), request.uri, request.args], [200, 'one', '/one', 'x=y']);
  t.is(requests.sent[0]?.options.method, 'PUT');
  t.is((await requests.send('http://a.test/none')).status, 404);
  await t.throwsAsync(requests.send('http://a.test/fails'), { message: 'cut off' });
  const opened = await requests.open('http://a.test/one?x=y');
  t.is(await text(opened.body), 'one');
});

const knock: StreamHandler = (session) => {
  if (session.preread.length < 3) return AGAIN;
  return session.preread.toString() === 'ses' ? DECLINED : STREAM_FORBIDDEN;
};

test('a session notes what a handler does with it', (t) => {
  const session = fakeSession({ preread: 'se', variables: { remote_addr: '10.0.0.9' } });
  t.is(session.variable('protocol'), 'TCP');
  t.is(session.variable('acme'), undefined);
  t.is(knock(session), AGAIN);
  session.preread = Buffer.from('ses');
  t.is(knock(session), DECLINED);
  t.is(session.variable('remote_addr'), '10.0.0.9');
  const ended: number[] = [];
  session.atEnd(({ status }) => void ended.push(status));
  t.is(session.send('bye'), DONE);
  t.deepEqual([session.sent, session.status, session.bytesSent], ['bye', STREAM_OK, 3]);
  session.end(STREAM_FORBIDDEN);
  t.deepEqual([session.status, ended], [STREAM_OK, [STREAM_OK]], 'it ends once');
});

test('a handler speaks with the client of a session, and passes it on to a relay', async (t) => {
  const relays = new FakeSessionRelays();
  const template = { constant: 'a:1', of: () => 'a:1' };
  const relay = relays.compile(
    relayPlan({
      target: template,
      fail: (message) => {
        throw new Error(message);
      },
    }),
  );
  const session = fakeSession({ preread: 'he' });
  const served = (async () => {
    const client = session.converse();
    let text = '';
    while (text.length < 5) text += (await client.read())?.toString() ?? '';
    client.unread(Buffer.from(text.slice(5)));
    if (!client.write(text.slice(0, 5))) await client.drained();
    return relay(session);
  })();
  t.is(session.conversation?.written, '');
  session.conversation!.isSlow = true;
  session.conversation?.send('llo, you');
  await setImmediate();
  t.is(session.conversation?.written, 'hello');
  t.deepEqual(relays.taken, []);
  session.conversation?.drain();
  t.is(await served, DONE);
  t.deepEqual([relays.taken[0]?.session, relays.plans[0]?.idleTimeout], [session, 600_000]);
  t.is(session.preread.toString(), ', you');
  session.end(STREAM_OK);
  t.is((await session.conversation?.read())?.toString(), ', you');
  t.is(await session.conversation?.read(), undefined);
});

test('virtual servers and the history are those of the test', async (t) => {
  const directive = {} as Directive;
  const servers = new FakeVirtualServers(
    [
      { directive, addresses: ['0.0.0.0:80'], names: ['a.test'] },
      { directive, addresses: ['0.0.0.0:80'], names: ['b.test'] },
    ],
    { shop: [[directive]] },
  );
  t.is(servers.at('0.0.0.0:80').length, 2);
  t.is(servers.find('0.0.0.0:80', undefined)?.names[0], 'a.test');
  t.is(servers.find('0.0.0.0:80', 'b.test')?.names[0], 'b.test');
  t.is([...servers.usersOf('shop')].length, 1);

  const history = new FakeHistory([{ version: 1 }, { version: 3, actor: 'ada' }, { version: 2 }]);
  const versions = history.entries({ limit: 2 }).map(({ version }) => version);
  t.deepEqual(versions, [3, 2]);
  t.is(history.entries({ before: 3, limit: 1 })[0]?.version, 2);
  t.is((await history.rollback(1)).version, 4);
  await t.throwsAsync(history.rollback(9), { message: 'version 9 not found' });
  history.differences = ['+ a;'];
  t.deepEqual((await history.save()).diff, ['+ a;']);
  t.deepEqual(history.drift(), []);
});
