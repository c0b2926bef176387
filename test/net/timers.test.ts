import { stat } from 'node:fs';
import test from 'ava';
import { CoarseClock } from '../../core/net/clock.js';
import { TimerWheel, type Timed } from '../../core/net/timers.js';

class Alarm implements Timed {
  deadline = 0;
  slot = -1;
  readonly rang: Promise<number>;
  #ring: (at: number) => void = () => undefined;

  constructor() {
    this.rang = new Promise((resolve) => (this.#ring = resolve));
  }
  onDeadline(): void {
    this.#ring(Date.now());
  }
}

/** The wheel's own timer does not keep a process alive; this does, until the test is over. */
function wheel(t: { teardown(work: () => void): void }): { timers: TimerWheel; clock: CoarseClock } {
  const clock = new CoarseClock();
  const timers = new TimerWheel(clock);
  const alive = setInterval(() => undefined, 1000);
  t.teardown(() => {
    timers.stop();
    clearInterval(alive);
  });
  return { timers, clock };
}

test('a deadline is never early', async (t) => {
  const { timers, clock } = wheel(t);
  const alarm = new Alarm();
  const start = clock.refresh();
  timers.arm(alarm, 250);
  t.true((await alarm.rang) - start >= 250);
});

test('a deadline that is moved later does not ring at the old time', async (t) => {
  const { timers, clock } = wheel(t);
  const [moved, other] = [new Alarm(), new Alarm()];
  timers.arm(moved, 200);
  timers.arm(other, 400);
  clock.refresh();
  timers.arm(moved, 60_000);
  const first = await Promise.race([moved.rang.then(() => 'moved'), other.rang.then(() => 'other')]);
  t.is(first, 'other');
});

test('a deadline that is moved earlier rings at the new time, also after it was disarmed', async (t) => {
  const { timers } = wheel(t);
  const [moved, rearmed, late] = [new Alarm(), new Alarm(), new Alarm()];
  timers.arm(moved, 60_000);
  timers.arm(moved, 200);
  timers.arm(rearmed, 60_000);
  timers.disarm(rearmed);
  timers.arm(rearmed, 200);
  timers.arm(late, 3000);
  t.not(await Promise.race([moved.rang.then(() => 'moved'), late.rang.then(() => 'late')]), 'late');
  t.not(await Promise.race([rearmed.rang.then(() => 'rearmed'), late.rang.then(() => 'late')]), 'late');
});

test.serial('what came during a stall comes before the deadlines', async (t) => {
  const { timers } = wheel(t);
  const [awaited, after] = [new Alarm(), new Alarm()];
  timers.arm(awaited, 200);
  timers.arm(after, 300);
  await new Promise((resolve) => setImmediate(resolve));
  stat('.', () => timers.disarm(awaited));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
  t.is(await Promise.race([awaited.rang.then(() => 'awaited'), after.rang.then(() => 'after')]), 'after');
});

test('what is disarmed or forgotten does not ring', async (t) => {
  const { timers } = wheel(t);
  const [disarmed, forgotten, after] = [new Alarm(), new Alarm(), new Alarm()];
  timers.arm(disarmed, 100);
  timers.arm(forgotten, 100);
  timers.arm(after, 500);
  timers.disarm(disarmed);
  timers.forget(forgotten);
  t.is(
    await Promise.race([disarmed.rang.then(() => 'disarmed'), forgotten.rang.then(() => 'forgotten'), after.rang.then(() => 'after')]),
    'after',
  );
});

test('a deadline that comes before all others is in time, whatever the wheel slept for', async (t) => {
  const { timers, clock } = wheel(t);
  const [far, near, between] = [new Alarm(), new Alarm(), new Alarm()];
  timers.arm(far, 60_000);
  await new Promise((resolve) => setTimeout(resolve, 350));
  // The clock stood still meanwhile: nothing refreshed it.
  const start = Date.now();
  timers.arm(between, 600);
  timers.arm(near, 200);
  t.true((await near.rang) - start >= 200);
  t.true((await between.rang) - start >= 600);
  t.true(clock.refresh() - start < 5000);
});

test('deadlines beyond one round of the wheel, and many at once, ring all of them', async (t) => {
  const { timers, clock } = wheel(t);
  const start = clock.refresh();
  const soon = Array.from({ length: 300 }, () => new Alarm());
  for (const [at, alarm] of soon.entries()) timers.arm(alarm, 1 + at * 3);
  const late = new Alarm();
  timers.arm(late, 200_000);
  t.true(late.slot >= 0);
  for (const [at, alarm] of soon.entries()) t.true((await alarm.rang) - start >= 1 + at * 3);
  t.true(late.deadline > 0);
});

test('a deadline that was set in a turn which then stalls does not ring before what has arrived is processed', async (t) => {
  const { timers } = wheel(t);
  const late = new Alarm();
  const order: string[] = [];
  timers.arm(new Alarm(), 100);
  const isOver = new Promise<void>((resolve) => {
    setTimeout(() => {
      timers.arm(late, 200);
      later(Date.now() + 500);
      // Events of sockets come between this one and the timers of the next turn.
      setImmediate(() => order.push('arrived'));
      void late.rang.then(() => {
        order.push('late');
        resolve();
      });
    }, 250);
  });
  // Both are due in the same turn.
  later(Date.now() + 400);
  await isOver;
  t.deepEqual(order, ['arrived', 'late']);
});

test('a held clock does not move until it is held again or released', (t) => {
  const clock = new CoarseClock();
  clock.hold();
  const { now } = clock;
  later(now);
  t.is(clock.refresh(), now);
  clock.hold();
  t.true(clock.now > now);
  later(clock.now);
  clock.release();
  t.true(clock.refresh() > now);
  t.is(clock.refresh(), clock.now);
});

/** Waits without a turn of the event loop. */
function later(time: number): void {
  while (Date.now() <= time);
}
