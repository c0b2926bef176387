/** Which rows fail and which members are slow, since when; and the figures of the last hour. */
import test from 'ava';
import type { FigureTotals } from '../../core/contract/figures.js';
import { Distribution } from '../../core/contract/distribution.js';
import type { NamedRow } from '../../modules/vts/collector.js';
import { History } from '../../modules/vts/history.js';
import { AttemptFigure, Http, statusCell, type RowKind } from '../../modules/vts/layout.js';
import { Watch } from '../../modules/vts/watch.js';

const STEP = 10_000;
const pause = (): Promise<void> => Promise.resolve();

/** A row whose counters the test sets. */
class FakeRow implements NamedRow {
  readonly counts = new Float64Array(200);
  readonly table = undefined as never;
  hasEnded = false;
  readonly totals: FigureTotals;

  constructor(
    readonly kind: RowKind,
    readonly name: string,
    readonly part = '',
  ) {
    const row = this as FakeRow;
    this.totals = {
      key: `${kind} ${name} ${part}`,
      createdAt: 0,
      get hasEnded() {
        return row.hasEnded;
      },
      counter: (at) => row.counts[at]!,
      counters: (first, length) => row.counts.slice(first, first + length),
      gauge: () => 0,
      distribution: () => new Distribution(),
      reset: () => row.counts.fill(0),
    };
  }

  /** Counts responses of a member. */
  respond(number: number, ms: number): void {
    this.counts[AttemptFigure.Attempts]! += number;
    this.counts[AttemptFigure.Heads]! += number;
    this.counts[AttemptFigure.HeadTime]! += number * ms;
  }

  /** Counts requests of a server or attempts of a member with this status. */
  count(number: number, status: number): void {
    const statuses = this.kind === 'server' ? Http.Statuses : AttemptFigure.Statuses;
    this.counts[Http.Requests]! += number;
    this.counts[statuses + statusCell(status)]! += number;
    if (this.kind === 'server' && status >= 500) this.counts[Http.Errors]! += number;
  }
}

/** Looks again and again, ten seconds apart. */
class Looks {
  readonly watch = new Watch();
  now = 1_000_000;

  constructor(private readonly rows: readonly FakeRow[]) {}

  async look(change: () => void = () => undefined): Promise<void> {
    change();
    this.now += STEP;
    await this.watch.look(this.rows, this.now, pause);
  }
}

test('a member that is slower than the others is listed with the moment at which that began, until it is not', async (t) => {
  const [fast, other, slow] = ['a', 'b', 'c'].map((address) => new FakeRow('member', 'shop', address)) as [FakeRow, FakeRow, FakeRow];
  const looks = new Looks([fast, other, slow]);
  const respond = (ms: number) => () => {
    for (const row of [fast, other]) row.respond(10, 20);
    slow.respond(10, ms);
  };
  await looks.look();
  await looks.look(respond(25));
  t.deepEqual(looks.watch.slow, []);
  const since = looks.now;
  await looks.look(respond(400));
  t.deepEqual(looks.watch.slow, [{ engine: 'http', upstream: 'shop', server: 'c', since, time: 400, reference: 20, than: 'others' }]);
  await looks.look(respond(900));
  t.like(looks.watch.slow[0], { since, time: 900 });
  await looks.look();
  t.is(looks.watch.slow.length, 1, 'without responses nothing else is known');
  await looks.look(respond(30));
  t.deepEqual(looks.watch.slow, []);
  await looks.look(respond(400));
  slow.hasEnded = true;
  t.deepEqual(looks.watch.slow, [], 'it was removed');
});

test('a member alone is compared with what it usually needs, and a few responses say nothing', async (t) => {
  const alone = new FakeRow('member', 'db', 'a');
  const looks = new Looks([alone]);
  await looks.look();
  for (let number = 0; number < 8; number++) await looks.look(() => alone.respond(5, 10 + number));
  await looks.look(() => alone.respond(2, 5000));
  t.deepEqual(looks.watch.slow, []);
  await looks.look(() => alone.respond(5, 500));
  const [found] = looks.watch.slow;
  t.like(found, { upstream: 'db', server: 'a', time: 500, than: 'usual' });
  t.true(found!.reference > 9 && found!.reference < 18);
});

test('a server and a member that fail are listed with statuses since then; what was counted before is not', async (t) => {
  const server = new FakeRow('server', 'shop.example');
  const member = new FakeRow('member', 'shop', 'a');
  const looks = new Looks([server, member]);
  server.count(50, 502);
  await looks.look();
  await looks.look(() => server.count(1000, 200));
  t.deepEqual(looks.watch.failing, []);
  await looks.look(() => {
    server.count(999, 200);
    server.count(1, 500);
  });
  t.deepEqual(looks.watch.failing, [], 'one of a thousand is below the share');
  const since = looks.now;
  await looks.look(() => {
    server.count(80, 200);
    server.count(15, 500);
    server.count(5, 504);
    member.count(20, 500);
  });
  t.deepEqual(looks.watch.failing, [
    { section: 'servers', name: 'shop.example', since, requests: 10, errors: 2, codes: { 500: 15, 504: 5 } },
    { section: 'upstreams', name: 'shop', part: 'a', since, requests: 2, errors: 2, codes: { 500: 20 } },
  ]);
  await looks.look(() => server.count(100, 200));
  await looks.look(() => server.count(100, 200));
  t.like(looks.watch.failing[0], { name: 'shop.example', errors: 0, since });
  await looks.look(() => server.count(100, 200));
  t.deepEqual(looks.watch.failing, []);
});

test('the history has figures per second, the oldest first, and at most an hour', async (t) => {
  const server = new FakeRow('server', 'shop.example');
  const history = new History();
  const add = (at: number): Promise<void> => history.add([server], { at, connections: 3, times: new Distribution() }, pause);
  await add(STEP);
  server.count(80, 200);
  server.count(15, 404);
  server.count(5, 500);
  await add(2 * STEP);
  t.deepEqual(history.points, [{ at: 2 * STEP, requests: 10, errors: 0.5, rejected: 1.5, received: 0, sent: 0, connections: 3 }]);
  for (let number = 3; number < 400; number++) await add(number * STEP);
  t.is(history.points.length, 360);
  t.is(history.points.at(-1)?.at, 399 * STEP);
});
