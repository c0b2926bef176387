import test from 'ava';
import { Flag } from '../../core/upstream/layout.js';
import type { Peer } from '../../core/upstream/peer.js';
import { upstreamOf, member } from './upstreams.js';

test('a member that failed rests for its fail_timeout, then has one trial, and a success clears it', (t) => {
  const { upstream, clock, unavailable } = upstreamOf([member(1, { failTimeout: 1000 }), member(2)]);
  const figures = () => upstream.memory.tally.read(upstream.peer(1)!.offset, clock.now);
  upstream.free(upstream.pick()!, true);
  t.deepEqual(unavailable, [1]);
  t.like(figures(), { failed: 1, unavail: 1, downstart: clock.now });
  const others = Array.from({ length: 3 }, () => upstream.pick()!);
  t.deepEqual(
    others.map(({ id }) => id),
    [2, 2, 2],
  );
  clock.now += 1001;
  const trial = Array.from({ length: 4 }, () => upstream.pick()!).filter(({ id }) => id === 1);
  t.is(trial.length, 1);
  upstream.free(trial[0]!, false);
  t.like(figures(), { downstart: 0, downtime: 1001 });
  t.deepEqual(new Set(Array.from({ length: 4 }, () => upstream.pick()!.id)).size, 2);
});

test('a trial that fails is one more failure, told again', (t) => {
  const { upstream, clock, unavailable } = upstreamOf([member(1, { failTimeout: 1000 }), member(2)]);
  upstream.free(upstream.pick()!, true);
  clock.now += 1001;
  // Its weight has to grow back before it is chosen.
  for (let request = 0; request < 5; request++) {
    const peer = upstream.pick()!;
    upstream.free(peer, peer.id === 1);
  }
  t.deepEqual(unavailable, [1, 1]);
  t.like(upstream.memory.tally.read(upstream.peer(1)!.offset, clock.now), { failed: 2, unavail: 1, downtime: 1001 });
});

test('failures that are further apart than fail_timeout do not add up', (t) => {
  const { upstream, clock, unavailable } = upstreamOf([member(1, { maxFails: 2, failTimeout: 1000 }), member(2)]);
  const peer = upstream.peer(1)!;
  const attempt = (failed: boolean): void => {
    for (let found: Peer | undefined; (found = upstream.pick());) {
      upstream.free(found, failed && found === peer);
      if (found === peer) return;
    }
  };
  attempt(true);
  clock.now += 1001;
  attempt(false);
  attempt(true);
  t.deepEqual(unavailable, []);
  attempt(true);
  t.deepEqual(unavailable, [1]);
});

test('the only member is never marked as failed', (t) => {
  const { upstream, unavailable } = upstreamOf([member(1)]);
  for (let request = 0; request < 3; request++) upstream.free(upstream.pick()!, true);
  t.deepEqual(unavailable, []);
  t.is(upstream.pick()?.id, 1);
});

test('a member that becomes the only one is forgiven', (t) => {
  const { upstream } = upstreamOf([member(1), member(2)]);
  upstream.free(upstream.pick()!, true);
  upstream.updates.prepareRemove(upstream.peer(2)!).commit();
  t.is(upstream.pick()?.id, 1);
});

test('max_fails 0 never marks a member', (t) => {
  const { upstream, unavailable } = upstreamOf([member(1, { maxFails: 0 }), member(2)]);
  for (let request = 0; request < 10; request++) {
    const peer = upstream.pick()!;
    upstream.free(peer, peer.id === 1);
  }
  t.deepEqual(unavailable, []);
});

test('max_conns holds for all workers together, and a full member comes back', (t) => {
  const { upstream } = upstreamOf([member(1, { maxConns: 2 }), member(2, { maxConns: 1 })]);
  const busy = [upstream.pick()!, upstream.pick()!, upstream.pick()!];
  t.is(upstream.pick(), undefined);
  t.is(busy.filter(({ id }) => id === 1).length, 2);
  upstream.free(busy[0]!, false);
  t.is(upstream.pick(), busy[0]);
});

test('many failed members are found again, whichever of them has rested enough', (t) => {
  const { upstream, clock } = upstreamOf(
    Array.from({ length: 200 }, (_, index) => member(index + 1, { failTimeout: index === 150 ? 10 : 100_000 })),
  );
  for (let request = 0; request < 200; request++) upstream.free(upstream.pick()!, true);
  t.is(upstream.pick(), undefined);
  clock.now += 11;
  t.is(upstream.pick()?.id, 151);
});

/** What a step of the time of day does to a member that has failed, and to one that has not. */
for (const step of [-3_600_000, 3_600_000]) {
  test(`a clock that is set ${step < 0 ? 'back' : 'forward'} by an hour takes no member out for longer than its fail_timeout`, (t) => {
    const { upstream, clock, unavailable } = upstreamOf([member(1, { failTimeout: 1000 }), member(2, { failTimeout: 1000 })]);
    const served = (): number[] => {
      const ids = Array.from({ length: 6 }, () => {
        const peer = upstream.pick()!;
        upstream.free(peer, false);
        return peer.id;
      });
      return [...new Set(ids)].toSorted((a, b) => a - b);
    };
    upstream.free(upstream.pick()!, true);
    t.deepEqual(unavailable, [1]);
    clock.now += step;
    clock.now += 1001;
    t.deepEqual(served(), [1, 2]);
    t.is(upstream.memory.tally.read(upstream.peer(1)!.offset, clock.now).downstart, 0, 'a success after the step counts');
    // Failures are counted as before.
    upstream.free(claimed(upstream, 2), true);
    t.deepEqual(unavailable, [1, 2]);
    t.deepEqual(served(), [1]);
    clock.now += 1001;
    t.deepEqual(served(), [1, 2]);
  });
}

test('a member that fails every other time is unavailable only if it fails max_fails times within fail_timeout', (t) => {
  const { upstream, clock, unavailable } = upstreamOf([member(1, { maxFails: 3, failTimeout: 1000 }), member(2)]);
  for (let round = 0; round < 20; round++) {
    upstream.free(claimed(upstream, 1), round % 2 === 0);
    clock.now += 1100;
  }
  t.deepEqual(unavailable, []);
  for (let round = 0; round < 20 && unavailable.length === 0; round++) {
    upstream.free(claimed(upstream, 1), round % 2 === 0);
    clock.now += 100;
  }
  t.deepEqual(unavailable, [1]);
});

test('a member that a health check found unfit gets no request until the check says so, whatever becomes of those it has', (t) => {
  const { upstream, clock } = upstreamOf([member(1, { maxFails: 2, failTimeout: 1000 }), member(2)]);
  const peer = upstream.peer(1)!;
  const figures = () => upstream.memory.tally.read(peer.offset, clock.now);
  const picked = () => new Set(Array.from({ length: 4 }, () => upstream.pick()!.id));
  upstream.free(claimed(upstream, 1), true);
  clock.now += 1001;
  claimed(upstream, 1);
  claimed(upstream, 1);
  const since = clock.now;
  upstream.turnHealth(peer, Flag.UNHEALTHY, undefined);
  clock.now += 5;
  // One succeeds, which would make up for the failure, one fails.
  upstream.free(peer, false);
  upstream.free(peer, true);
  t.like(figures(), { downstart: since, active: 0 });
  t.deepEqual(picked(), new Set([2]));
  t.false(upstream.claim(peer));
  t.false(upstream.claimBound(peer));
  clock.now += 5;
  upstream.turnHealth(peer, 0, undefined);
  t.like(figures(), { downstart: 0, downtime: 10 });
  t.is(picked().size, 2);
});

/** The member of this id, with a request on it. */
function claimed(upstream: ReturnType<typeof upstreamOf>['upstream'], id: number): Peer {
  const peer = upstream.peer(id)!;
  if (!upstream.claim(peer)) throw new Error(`member ${id} cannot be had`);
  return peer;
}
