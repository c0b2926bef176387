import test from 'ava';
import { ApiError } from '../../core/contract/control.js';
import { StreamPlaces } from '../../core/toolkit/stream-places.js';

async function* numbers(): AsyncGenerator<number> {
  yield 1;
  yield 2;
}

async function* failing(): AsyncGenerator<number> {
  yield 1;
  throw new Error('broken');
}

test('as many places as there are; the end of a stream, its client and a failure free them', async (t) => {
  const places = new StreamPlaces(2, 'the tests');
  const isFull = (): void =>
    void t.like(
      t.throws(() => places.take(), { instanceOf: ApiError }),
      { status: 503, code: 'TooManyStreams' },
    );
  const [first, second] = [places.take(), places.take()];
  isFull();
  first.free();
  first.free();
  const third = places.take();
  isFull();
  const seen: number[] = [];
  for await (const number of second.hold(numbers())) seen.push(number);
  t.deepEqual(seen, [1, 2]);
  const fourth = places.take();
  isFull();
  for await (const number of third.hold(numbers())) if (number === 1) break;
  const fifth = places.take();
  isFull();
  const broken = fourth.hold(failing());
  await broken.next();
  await t.throwsAsync(broken.next(), { message: 'broken' });
  places.take();
  isFull();
  fifth.free();
  t.notThrows(() => places.take());
});
