import test from 'ava';
import { fullPace, Lab } from '../../tools/bench/lab.js';
import { parseOptions } from '../../tools/bench/options.js';
import { alternate, describePairs, measurePairs, type Turn } from '../../tools/bench/pairs.js';
import { traffics, type Traffic } from '../../tools/bench/traffic.js';
import { tempFolder } from '../harness/temp.js';

const traffic = traffics.find(({ name }) => name === '1k') as Traffic;

test('a pair is ours, other, other, ours: a machine that becomes slower changes no ratio', async (t) => {
  let slowness = 0;
  const order: string[] = [];
  const turn = (name: string, seconds: number) => (): Promise<Turn> => {
    order.push(name);
    const cpu = seconds + slowness++;
    return Promise.resolve({ work: 100, cpu, apart: { user: cpu / 4, system: cpu / 2 } });
  };
  const seen: number[] = [];
  const pairs = await alternate(2, { ours: turn('ours', 10), other: turn('other', 10) }, (_, number) => seen.push(number));
  t.deepEqual(order.slice(0, 4), ['ours', 'other', 'other', 'ours']);
  t.is(order.length, 8);
  t.deepEqual(seen, [1, 2]);
  for (const { ours, other, apart } of pairs) {
    t.is(ours, other);
    t.deepEqual(apart?.ours, apart?.other);
  }
  t.regex(describePairs(pairs, traffic, 'nginx'), /srv: user 33750\.0, system 67500\.0; nginx: user 33750\.0, system 67500\.0/);
});

test('the median of the ratios counts, and the least is named', (t) => {
  const pairs = [
    { ours: 30e-6, other: 20e-6 },
    { ours: 22e-6, other: 20e-6 },
    { ours: 90e-6, other: 10e-6 },
  ];
  const text = describePairs(pairs, traffic, 'nginx');
  t.regex(text, /\| 1 +\| 30\.0 \| 20\.0 +\| 1\.500 \|/);
  t.regex(text, /ratio to nginx: median 1\.500, least 1\.100, greatest 9\.000/);
});

test('--pairs is ten pairs unless --rounds says otherwise', (t) => {
  t.is(parseOptions(['--pairs', '1k']).rounds, 10);
  t.is(parseOptions(['--pairs', '1k', '--rounds', '3']).rounds, 3);
  t.is(parseOptions([]).rounds, 5);
});

test('wrong options are errors that say what to write', async (t) => {
  t.throws(() => parseOptions(['--base', '/tmp']), { message: '--base needs --pairs' });
  t.throws(() => parseOptions(['--pairs']), { message: /--pairs/ });
  const missing = {
    wrk: undefined,
    h2load: undefined,
    nginx: undefined,
    haproxy: undefined,
    varnishd: undefined,
    openssl: undefined,
    'redis-server': undefined,
    taskset: undefined,
  };
  const lab = new Lab(missing, fullPace, tempFolder(t));
  t.teardown(() => lab.close());
  const options = { name: '1k', pairs: 1, base: undefined, quick: true, progress: () => undefined };
  await t.throwsAsync(measurePairs(lab, { ...options, name: '2k' }), { message: /^--pairs takes one of 1k, .*, not "2k"$/ });
  await t.throwsAsync(measurePairs(lab, options), { message: /no nginx here/ });
  await t.throwsAsync(measurePairs(lab, { ...options, base: lab.dir }), { message: /--base: there is no build of srv in/ });
});
