import { setImmediate } from 'node:timers/promises';
import test from 'ava';
import * as fc from 'fast-check';
import { Choice } from '../../core/upstream/choice.js';
import type { Peer } from '../../core/upstream/peer.js';
import type { WaitingRequest } from '../../core/upstream/waiting-request.js';
import { fakeRequest } from '../../testing/request.js';
import { TestNode } from './nodes.js';

const shop = (lines: string): string => `http { upstream shop { zone shop 1m; ${lines} } }`;

/** A request: it has a member, waits for one, or neither. */
class Caller {
  peer: Peer | undefined;
  waiting: WaitingRequest | undefined;

  constructor(
    readonly number: number,
    readonly worker: number,
    private readonly served: number[],
  ) {}

  onTurn(peer: Peer): void {
    this.waiting = undefined;
    this.peer = peer;
    this.served.push(this.number);
  }

  onQueueTimeout(): void {}
}

/** Requests of all workers of a node, in the order in which they come. */
class Callers {
  /** Numbers of those that got a member after they had waited. */
  readonly served: number[] = [];
  #last = 0;

  constructor(readonly node: TestNode) {}

  static async on(lines: string, workers = 3): Promise<Callers> {
    const node = new TestNode({ workers });
    await node.load(shop(lines));
    return new Callers(node);
  }

  call(worker: number, choice?: Choice): Caller {
    const upstream = this.node.upstream('shop', worker);
    const caller = new Caller(++this.#last, worker, this.served);
    caller.peer = upstream.pick(choice);
    if (caller.peer === undefined) caller.waiting = upstream.queue?.join(choice, caller);
    return caller;
  }

  end({ worker, peer }: Caller, failed = false): void {
    this.node.upstream('shop', worker).free(peer!, failed);
  }

  get figures() {
    return this.node.master.get('shop')?.queue;
  }
}

/** Until the workers have told each other what there is to tell. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await setImmediate();
}

test('requests of all workers are served in the order in which they came', async (t) => {
  const callers = await Callers.on('server 10.0.0.1 max_conns=1; queue 10;');
  const busy = callers.call(0);
  const waiting = [2, 0, 1, 1, 2, 0].map((worker) => callers.call(worker));
  t.true(waiting.every(({ peer }) => peer === undefined));
  t.deepEqual(callers.figures, { size: 6, maxSize: 10, overflows: 0 });
  let last = busy;
  for (const next of waiting) {
    callers.end(last);
    await settled();
    t.not(next.peer, undefined);
    last = next;
  }
  t.deepEqual(callers.served, [2, 3, 4, 5, 6, 7]);
  t.deepEqual(callers.figures, { size: 0, maxSize: 10, overflows: 0 });
});

test('who comes while others wait does not go before them', async (t) => {
  const callers = await Callers.on('server 10.0.0.1 max_conns=1; queue 10;');
  const busy = callers.call(0);
  const first = callers.call(1);
  callers.end(busy);
  // The worker of the first one has not been told yet.
  const second = callers.call(0);
  t.is(second.peer, undefined);
  await settled();
  t.not(first.peer, undefined);
  t.is(second.peer, undefined);
});

test('a full queue rejects, of all workers together; one that leaves gives its place up', async (t) => {
  const callers = await Callers.on('server 10.0.0.1 max_conns=1; queue 2;');
  const busy = callers.call(0);
  const [one, two] = [callers.call(1), callers.call(2)];
  t.is(callers.call(0).waiting, undefined);
  t.deepEqual(callers.figures, { size: 2, maxSize: 2, overflows: 1 });
  one.waiting!.leave();
  const three = callers.call(1);
  t.deepEqual(callers.figures, { size: 2, maxSize: 2, overflows: 1 });
  callers.end(busy);
  await settled();
  callers.end(two);
  await settled();
  t.deepEqual(callers.served, [two.number, three.number]);
  callers.node.master.get('shop')!.resetStatistics();
  t.is(callers.figures?.overflows, 0);
});

const choice = (): Choice => new Choice(fakeRequest({ uri: '/a' }));

for (const method of ['', 'least_conn;', 'least_time header;', 'hash $uri;', 'hash $uri consistent;', 'ip_hash;', 'random;', 'random two;'])
  test(`a member that is added, may have more, or is no longer down serves those who wait: ${method || 'round robin'}`, async (t) => {
    const callers = await Callers.on(`${method} server 10.0.0.1 max_conns=1; server 10.0.0.2 down; queue 10;`);
    callers.call(0, choice());
    const [one, two, three, four] = [0, 1, 2, 0].map((worker) => callers.call(worker, choice()));
    await callers.node.add('shop', 'server 10.0.0.3 max_conns=1;');
    await settled();
    t.deepEqual(callers.served, [one!.number]);
    t.is(one!.peer?.server, '10.0.0.3:80');
    await callers.node.replace(callers.node.idOf('server', '10.0.0.1'), 'server 10.0.0.1 max_conns=2;');
    await settled();
    t.is(two!.peer?.server, '10.0.0.1:80');
    await callers.node.replace(callers.node.idOf('server', '10.0.0.2'), 'server 10.0.0.2;');
    await settled();
    t.deepEqual(callers.served, [one!.number, two!.number, three!.number, four!.number]);
  });

test('one that has tried a member waits for another one, and keeps nobody from theirs', async (t) => {
  const callers = await Callers.on('server 10.0.0.1 max_conns=1 max_fails=0; server 10.0.0.2 max_conns=1; queue 10;');
  const [a, b] = [callers.call(0), callers.call(0)];
  const again = new Choice(undefined);
  again.exclude(a.peer!);
  const retry = callers.call(0, again);
  const other = callers.call(1);
  callers.end(a, true);
  await settled();
  t.is(retry.peer, undefined);
  t.not(other.peer, undefined);
  callers.end(b);
  await settled();
  t.is(retry.peer?.server, '10.0.0.2:80');
});

test('a worker that dies waits for nothing', async (t) => {
  const callers = await Callers.on('server 10.0.0.1 max_conns=1; queue 10;');
  const busy = callers.call(1);
  callers.call(0);
  const waiting = callers.call(1);
  callers.node.master.dropWorker(0);
  t.is(callers.figures?.size, 1);
  callers.end(busy);
  await settled();
  t.not(waiting.peer, undefined);
});

test('the queue comes and goes; who waits still gets a member', async (t) => {
  const callers = await Callers.on('server 10.0.0.1 max_conns=1;');
  const busy = callers.call(0);
  t.is(callers.call(1).waiting, undefined);
  t.is(callers.figures, undefined);
  const line = await callers.node.add('shop', 'queue 1;');
  const waiting = callers.call(1);
  await callers.node.remove(line);
  t.is(callers.figures, undefined);
  callers.end(busy);
  await settled();
  t.not(waiting.peer, undefined);
});

test('an upstream without a zone has a queue in each worker', async (t) => {
  const node = new TestNode({ workers: 2 });
  await node.load('http { upstream shop { server 10.0.0.1 max_conns=1; queue 1; } }');
  const callers = new Callers(node);
  const [busy, also] = [callers.call(0), callers.call(1)];
  t.not(also.peer, undefined);
  const waiting = callers.call(0);
  t.is(callers.call(0).waiting, undefined);
  callers.end(busy);
  await settled();
  t.not(waiting.peer, undefined);
});

const step = fc.record({ what: fc.constantFrom('call', 'call', 'call', 'end', 'end', 'leave'), worker: fc.nat(2), number: fc.nat(50) });

test('whatever comes and goes: those who wait are served in turn, and none waits while a member is free', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const callers = await Callers.on('server 10.0.0.1 max_conns=2; server 10.0.0.2 max_conns=1; queue 5;');
      const here: Caller[] = [];
      const expected: number[] = [];
      for (const { what, worker, number } of steps) {
        const busy = here.filter(({ peer }) => peer !== undefined);
        const waiting = here.filter((caller) => caller.waiting !== undefined);
        const some = (what === 'end' ? busy : waiting)[number % Math.max(1, (what === 'end' ? busy : waiting).length)];
        if (what === 'call') here.push(callers.call(worker));
        else if (some !== undefined) {
          here.splice(here.indexOf(some), 1);
          if (what === 'leave') some.waiting!.leave();
          else {
            if (waiting[0] !== undefined) expected.push(waiting[0].number);
            callers.end(some);
          }
        }
        await settled();
        const left = here.filter((caller) => caller.waiting !== undefined).length;
        if (callers.figures?.size !== left || left > 5) return false;
        if (left > 0 && here.filter(({ peer }) => peer !== undefined).length !== 3) return false;
      }
      return callers.served.join() === expected.join();
    }),
    { numRuns: 60 },
  );
  t.pass();
});
