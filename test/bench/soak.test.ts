import test from 'ava';
import { growth, slope, type Look } from '../../tools/bench/soak.js';

const looks = (memory: (minute: number) => number): Look[] =>
  Array.from({ length: 31 }, (_, minute) => ({ minute, memory: memory(minute), descriptors: 10 }));

test('the slope of a line is found among noise', (t) => {
  const points = Array.from({ length: 100 }, (_, x) => ({ x, y: 3 * x + 5 + (x % 2) }));
  t.true(Math.abs(slope(points) - 3) < 0.01);
});

test('what a server takes while it warms up is no growth', (t) => {
  t.true(Math.abs(growth(looks((minute) => 100 + 50 * Math.min(minute / 10, 1)))) < 1);
});

test('memory that is never given back is growth', (t) => {
  t.true(Math.abs(growth(looks((minute) => 100 + minute)) - 60) < 0.1);
});
