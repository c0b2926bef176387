import test, { type ExecutionContext } from 'ava';
import { threadId } from 'node:worker_threads';
import { ZoneCopies } from '../../core/zone/copies.js';
import { Zone } from '../../core/zone/zone.js';
import { Random } from './random.js';

const MB = 1_048_576;

function copiesOf(bytes: number): { readonly zone: Zone; readonly copies: ZoneCopies } {
  const zone = Zone.create('copies', ZoneCopies.zoneSize(bytes));
  return { zone, copies: open(zone, bytes) };
}

function open(zone: Zone, bytes: number): ZoneCopies {
  const copies = ZoneCopies.open(zone, bytes);
  if (copies === undefined) throw new Error('no room');
  return copies;
}

const nameOf = (number: number): string => process.getBuiltinModule('node:crypto').hash('md5', String(number), 'hex');
const contentOf = (number: number, length: number): Buffer => Buffer.alloc(length, `${number}.`);
function randomNumbers(seed: number): () => number {
  const random = new Random(seed);
  return () => random.below(2 ** 30) / 2 ** 30;
}

const always = (): boolean => true;

function read(copies: ZoneCopies, number: number): Buffer | undefined {
  const found = copies.find(nameOf(number));
  if (found === undefined) return undefined;
  const bytes = Buffer.alloc(found.length);
  return copies.read(found, 0, bytes) ? bytes : undefined;
}

test('a copy is found until it is dropped, in every thread, and what was found of it is of no use then', (t) => {
  const { zone, copies } = copiesOf(MB);
  const other = open(zone, MB);
  copies.offer(nameOf(1), contentOf(1, 1000), always);
  t.deepEqual(read(other, 1), contentOf(1, 1000));
  const rest = Buffer.alloc(10);
  const found = copies.find(nameOf(1))!;
  t.true(copies.read(found, 990, rest));
  t.deepEqual(rest, contentOf(1, 1000).subarray(990));
  copies.offer(nameOf(1), contentOf(2, 1000), always);
  t.deepEqual(read(copies, 1), contentOf(1, 1000), 'there was one');
  other.drop(nameOf(1));
  t.false(copies.read(found, 990, rest));
  t.is(copies.find(nameOf(1)), undefined);
  t.is(copies.count + copies.bytes, 0);
});

test('a copy that is dropped while it is offered, or that is of before a change, is not found', (t) => {
  const { copies } = copiesOf(MB);
  copies.offer(nameOf(1), contentOf(1, 100), () => false);
  t.is(copies.find(nameOf(1)), undefined);
  copies.offer(nameOf(1), contentOf(1, 100), () => {
    t.is(copies.find(nameOf(1)), undefined, 'not yet');
    copies.drop(nameOf(1));
    return true;
  });
  t.is(copies.find(nameOf(1)), undefined);
  t.throws(() =>
    copies.offer(nameOf(1), contentOf(1, 100), () => {
      throw new Error('no');
    }),
  );
  t.is(copies.count + copies.bytes, 0);
});

test('whatever is done, each copy has its own bytes, and they take no more than there are', (t) => {
  const random = randomNumbers(7);
  const { zone, copies } = copiesOf(MB);
  let [hits, most] = [0, 0];
  for (let step = 0; step < 30_000; step++) {
    // Some are asked for much more often than others.
    const number = Math.floor(random() ** 4 * 3000);
    const bytes = read(copies, number);
    if (bytes !== undefined) {
      hits++;
      if (!bytes.equals(contentOf(number, bytes.length))) t.fail(`copy ${number} has other bytes`);
    } else copies.offer(nameOf(number), contentOf(number, 1 + Math.floor(random() ** 3 * copies.longest)), always);
    if (random() < 0.01) copies.drop(nameOf(number));
    most = Math.max(most, copies.bytes);
    if (step % 10_000 === 5000) dieIn(zone);
  }
  t.true(hits > 5000, `${hits}`);
  t.true(most > MB / 2 && most < MB, `${most}`);
});

/** As a thread that dies in the lock. */
function dieIn(zone: Zone): void {
  zone.enter();
  if (!zone.releaseOf(threadId)) throw new Error('the lock is free');
}

test('after a thread has died in the lock all copies are dropped', (t) => {
  const { zone, copies } = copiesOf(MB);
  copies.offer(nameOf(1), contentOf(1, 100), always);
  const found = copies.find(nameOf(1))!;
  dieIn(zone);
  copies.drop(nameOf(2));
  t.is(copies.find(nameOf(1)), undefined);
  t.false(copies.read(found, 0, Buffer.alloc(100)));
  t.is(copies.count + copies.bytes, 0);
  copies.offer(nameOf(1), contentOf(2, 100), always);
  t.deepEqual(read(copies, 1), contentOf(2, 100));
});

test('what is longer than the longest copy is not kept', (t) => {
  const { copies } = copiesOf(MB);
  t.is(copies.longest, 32_768);
  copies.offer(nameOf(1), contentOf(1, copies.longest + 1), always);
  t.is(copies.find(nameOf(1)), undefined);
  copies.offer(nameOf(1), contentOf(1, copies.longest), always);
  t.deepEqual(read(copies, 1), contentOf(1, copies.longest));
});

/** Share of requests that find a copy. */
function hitRatio(ask: (number: number) => boolean, requests: Iterable<number>): number {
  let [hits, all] = [0, 0];
  for (const number of requests) {
    all++;
    if (ask(number)) hits++;
  }
  return hits / all;
}

/** Popular ones by Zipf's law, and now and then one after the other of 3000 that are asked for once. */
function* load(t: ExecutionContext, { names, exponent, scans }: { names: number; exponent: number; scans: boolean }): Generator<number> {
  t.timeout(60_000);
  const random = randomNumbers(42);
  const sums = new Float64Array(names);
  for (let rank = 0, sum = 0; rank < names; rank++) sums[rank] = sum += 1 / (rank + 1) ** exponent;
  for (let request = 0, scanned = names; request < 300_000; request++) {
    if (scans && request % 10_000 === 9999) for (let count = 0; count < 3000; count++) yield scanned++;
    const wanted = random() * sums[names - 1]!;
    let [low, high] = [0, names - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle]! < wanted) low = middle + 1;
      else high = middle;
    }
    yield low;
  }
}

for (const [title, wanted, options] of [
  ["by Zipf's law", 0.02, { names: 30_000, exponent: 0.9, scans: false }],
  ["by Zipf's law, with scans", 0.04, { names: 30_000, exponent: 0.9, scans: true }],
] as const)
  test(`requests ${title}: more of them find a copy than with the least recently used ones dropped`, (t) => {
    const { copies } = copiesOf(2 * MB);
    const content = Buffer.alloc(1024);
    const into = Buffer.alloc(1024);
    const names = new Map<number, string>();
    const ours = hitRatio(
      (number) => {
        const name = names.get(number) ?? nameOf(number);
        if (number < options.names) names.set(number, name);
        const found = copies.find(name);
        if (found !== undefined) return copies.read(found, 0, into);
        copies.offer(name, content, always);
        return false;
      },
      load(t, options),
    );
    // All of the memory is for its copies.
    const recent = new Set<number>();
    const least = hitRatio(
      (number) => {
        const isThere = recent.delete(number);
        recent.add(number);
        if (recent.size > 2048) recent.delete(recent.keys().next().value!);
        return isThere;
      },
      load(t, options),
    );
    t.log(`hit ratio ${(100 * ours).toFixed(1)} %, least recently used ${(100 * least).toFixed(1)} %`);
    t.true(ours > least + wanted, `${ours} ${least}`);
  });
