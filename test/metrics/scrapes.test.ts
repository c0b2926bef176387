/** Listings, texts and shared scrapes, without a server. */
import { setImmediate } from 'node:timers/promises';
import test from 'ava';
import { Distribution } from '../../core/contract/distribution.js';
import type { FigureFamily, Sample } from '../../core/contract/families.js';
import type { ClusterView } from '../../core/contract/cluster.js';
import { clusterFamilies } from '../../modules/metrics/node-figures.js';
import { acceptedFormat } from '../../modules/metrics/accepted-format.js';
import { TextExposition, type Format } from '../../modules/metrics/exposition.js';
import type { AnyFamily } from '../../core/toolkit/figures/grouped.js';
import { Listings } from '../../core/toolkit/figures/listings.js';
import type { FigurePage } from '../../core/toolkit/figures/page.js';
import { SharedScrapes } from '../../modules/metrics/shared-scrapes.js';
import { ProtobufExposition } from '../../modules/metrics/protobuf-exposition.js';
import { quantileBounds, readFamilies } from './client-model.js';
import { readOpenMetrics, readText } from './open-metrics.js';

/** @param most samples of a family that have labels of their own */
async function textOf(
  families: readonly AnyFamily[],
  format: Exclude<Format, 'protobuf'>,
  most?: number,
): Promise<{ text: string; rejected: string[]; pages: number }> {
  const rejected: string[] = [];
  const listings = new Listings({ rejected: (reason) => void rejected.push(reason), ...(most !== undefined && { most }) });
  const exposition = new TextExposition(format);
  let [text, pages] = ['', 0];
  let next: string | undefined = listings.begin({ families, done: () => undefined });
  while (next !== undefined) {
    // As the bus carries it.
    const page = JSON.parse(JSON.stringify(await listings.page(next))) as FigurePage;
    text += page.families.map((family) => exposition.family(family)).join('');
    pages++;
    ({ next } = page);
  }
  return { text: text + exposition.end(), rejected, pages };
}

const counter = (name: string, samples: Iterable<Sample | undefined>): FigureFamily => ({ name, help: 'Help.', kind: 'counter', samples });

test('label values of any form are read back as they were, in both formats', async (t) => {
  const values = ['', '"', '\\', '\\n', '\n', '"} 1\n# EOF\n', '\r', '\u2028', 'é😀', '{}=,', '\ud800'];
  const family = counter(
    'a',
    values.map((value, at) => ({ labels: { value, at: String(at) }, value: at })),
  );
  const shown = values.map((value) => value.toWellFormed());
  const open = readOpenMetrics(Buffer.from((await textOf([family], 'openmetrics')).text).toString());
  t.deepEqual(
    open.find(({ name }) => name === 'a')?.samples.map(({ labels }) => labels['value']),
    shown,
  );
  const plain = readText(Buffer.from((await textOf([family], 'text')).text).toString());
  t.deepEqual(
    plain.filter(({ name }) => name === 'a_total').map(({ labels }) => labels['value']),
    shown,
  );
  const nul = await textOf([counter('a', [{ labels: { value: 'a\0b' }, value: 1 }])], 'openmetrics');
  t.false(nul.text.includes('\0'));
});

test('families of one name from several modules are one; what cannot be shown is left out', async (t) => {
  const failing = (function* (): Generator<Sample> {
    yield { labels: { of: 'third' }, value: 3 };
    throw new Error('broken');
  })();
  const families: AnyFamily[] = [
    counter('a', [{ labels: { of: 'first' }, value: 1 }]),
    counter('b', failing),
    counter('a', [{ labels: { of: 'second' }, value: 2 }]),
    { name: 'a', help: 'Help.', kind: 'gauge', samples: [] },
    counter('bad name', []),
    { name: 'c', help: 'Help.', kind: 'gauge', samples: [{ labels: { 'bad name': 'x', fine: 'y', le: 'z' }, value: Infinity }] },
  ];
  const { text, rejected } = await textOf(families, 'openmetrics');
  const read = readOpenMetrics(text);
  t.deepEqual(
    read.flatMap(({ samples }) => samples.map(({ name, value }) => `${name} ${value}`)),
    ['a_total 1', 'a_total 2', 'b_total 3', 'c NaN', 'srv_metrics_other_samples 0'],
  );
  t.deepEqual(read.find(({ name }) => name === 'c')?.samples[0]?.labels, { fine: 'y' });
  t.is(rejected.length, 3);
  t.true(rejected.some((reason) => reason.includes('broken')));
});

/** A distribution with one value. */
function times(value: number): Distribution {
  const distribution = new Distribution();
  distribution.observe(value);
  return distribution;
}

test('samples beyond the budget are added up in "other"', async (t) => {
  const names = ['a', 'b', 'c', 'd', 'e'];
  const families: AnyFamily[] = [
    counter(
      'n',
      names.map((name, at) => ({ labels: { name }, value: at })),
    ),
    {
      name: 't',
      help: 'Help.',
      unit: 'seconds',
      kind: 'distribution',
      samples: names.map((name, at) => ({ labels: { name }, value: times(at) })),
    },
  ];
  const samples = readOpenMetrics((await textOf(families, 'openmetrics', 3)).text).flatMap((family) => family.samples);
  const of = (name: string): unknown[] =>
    samples.filter((sample) => sample.name === name).map(({ labels, value }) => [labels['name'], value]);
  t.deepEqual(of('n_total'), [
    ['a', 0],
    ['b', 1],
    ['c', 2],
    ['other', 7],
  ]);
  t.deepEqual(of('t_seconds_count'), [
    ['a', 1],
    ['b', 1],
    ['c', 1],
    ['other', 2],
  ]);
  t.deepEqual(of('t_seconds_sum').at(-1), ['other', 0.007]);
  t.deepEqual(of('srv_metrics_other_samples'), [[undefined, 4]]);
});

test('times are counted in buckets as they are', async (t) => {
  const distribution = new Distribution();
  const values = [0, 1, 3, 4, 63, 64, 65, 1023, 1024, 70_000, 5_000_000];
  for (const value of values) distribution.observe(value);
  const family: FigureFamily = {
    name: 't',
    help: 'Help.',
    unit: 'seconds',
    kind: 'distribution',
    samples: [{ labels: {}, value: distribution }],
  };
  for (const isNumerous of [false, true]) {
    const [read] = readOpenMetrics((await textOf([{ ...family, isNumerous }], 'openmetrics')).text);
    const buckets = read!.samples.filter(({ name }) => name === 't_seconds_bucket');
    t.is(buckets.length, isNumerous ? 10 : 18);
    for (const { labels, value } of buckets) {
      const bound = labels['le'] === '+Inf' ? Infinity : Number(labels['le']) * 1000;
      t.is(value, values.filter((one) => one < bound).length, labels['le']);
    }
  }
});

/** A value for each of 10,000 members. */
function* each<V>(value: V): Generator<Sample<V>> {
  for (let at = 0; at < 10_000; at++) yield { labels: { upstream: `up${at % 100}`, server: `10.0.${at >> 8}.${at & 255}:80` }, value };
}

test('messages of Prometheus have labels of any form, native histograms and exemplars', async (t) => {
  const distribution = new Distribution();
  const values = Array.from({ length: 1000 }, (_, at) => Math.round(1.01 ** at) % 50_000);
  for (const value of values) distribution.observe(value);
  const hostile = 'q"uo\\te\n\0{}\ud800é';
  const exemplar = { value: 40, at: 1_700_000_000_123, traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8) };
  const families: AnyFamily[] = [
    { ...counter('c', [{ labels: { name: hostile, le: 'x' }, value: 7 }]), help: 'Some "help".' },
    { name: 'g', help: 'Help.', kind: 'gauge', samples: [{ labels: {}, value: -1.5 }] },
    {
      name: 't',
      help: 'Help.',
      unit: 'seconds',
      kind: 'distribution',
      samples: [{ labels: { a: 'b' }, value: distribution, exemplars: [exemplar] }],
    },
    { name: 'e', help: 'Help.', unit: 'seconds', kind: 'distribution', samples: [{ labels: {}, value: new Distribution() }] },
  ];
  const listings = new Listings({ rejected: (reason) => t.fail(reason) });
  const page = JSON.parse(JSON.stringify(await listings.page(listings.begin({ families, done: () => undefined })))) as FigurePage;
  const exposition = new ProtobufExposition();
  const read = readFamilies(Buffer.concat(page.families.map((family) => exposition.family(family))));
  const [c, g, time, empty] = read;
  t.like(c, { name: 'c_total', type: 'COUNTER', help: 'Some "help".' });
  t.deepEqual(c?.metric, [{ label: [{ name: 'name', value: hostile.toWellFormed() }], counter: { value: 7 } }]);
  t.deepEqual(g?.metric, [{ label: [], gauge: { value: -1.5 } }]);
  t.like(time, { name: 't_seconds', type: 'HISTOGRAM' });
  const [{ histogram } = { histogram: undefined }] = time?.metric ?? [];
  t.is(histogram?.sample_count, 1000);
  t.is(histogram?.bucket.at(-1)?.cumulative_count, values.filter((value) => value < 65_536).length);
  const sorted = values.toSorted((one, other) => one - other);
  for (const share of [0.1, 0.5, 0.9, 0.99, 1]) {
    const exact = sorted[Math.ceil(share * sorted.length) - 1]!;
    const [from, to] = quantileBounds(histogram!, share);
    // A whole number of milliseconds may have been anything up to the next one.
    t.true((exact + 1) / 1000 > from * 0.95 && exact / 1000 <= to * 1.05, `${share}: ${exact} ms, ${from} to ${to} s`);
  }
  const withOne = histogram!.bucket.filter((bucket) => bucket.exemplar !== undefined);
  t.deepEqual(
    withOne.map(({ upper_bound: bound, exemplar: own }) => [bound, own?.value, own?.label.map(({ value }) => value)]),
    [[0.064, 0.0405, [exemplar.traceId, exemplar.spanId]]],
  );
  t.deepEqual(empty?.metric[0]?.histogram?.positive_span, [{ offset: 0, length: 0 }]);
});

test('a listing of many samples comes in many pages, between which others run', async (t) => {
  const values = new Distribution();
  for (let value = 1; value < 5000; value *= 1.2) values.observe(value);
  const families: AnyFamily[] = [
    ...Array.from({ length: 8 }, (_, at) => counter(`n${at}`, each(at))),
    { name: 't', help: 'Help.', unit: 'seconds', kind: 'distribution', isNumerous: true, samples: each(values) },
  ];
  let turns = 0;
  const over = new AbortController();
  const others = (async () => {
    for (; !over.signal.aborted; turns++) await setImmediate();
  })();
  const { text, pages } = await textOf(families, 'text');
  over.abort();
  await others;
  t.is(text.split('\n').length - 1, 8 * 10_002 + 2 + 12 * 10_000 + 3);
  t.true(pages > 80);
  t.true(turns > 5);
});

/** Pages that come when the test says so. */
function slowPages(count: number) {
  const asked: { next: string | undefined; give: () => void }[] = [];
  const ask = (next: string | undefined): Promise<FigurePage> =>
    new Promise((resolve) => {
      const at = Number(next ?? 0);
      const family = { name: `n${at}`, help: 'Help.', kind: 'gauge' as const, samples: [[{}, at] as const] };
      asked.push({ next, give: () => resolve({ families: [family], ...(at + 1 < count && { next: String(at + 1) }) }) });
    });
  return { asked, ask };
}

async function all(pieces: AsyncIterable<Uint8Array | string>): Promise<string> {
  let text = '';
  for await (const piece of pieces) text += typeof piece === 'string' ? piece : Buffer.from(piece).toString();
  return text;
}

test('clients that come while a scrape is made share it, others wait for their turn', async (t) => {
  const scrapes = new SharedScrapes();
  const { asked, ask } = slowPages(2);
  const first = scrapes.read('text', ask);
  await setImmediate();
  const second = scrapes.read('text', ask);
  const other = scrapes.read('openmetrics', ask);
  await setImmediate();
  t.is(asked.length, 1);
  for (let at = 0; at < 4; at++) {
    asked[at]!.give();
    await setImmediate();
  }
  const texts = await Promise.all([first, second, other].map(async (reader) => all(await reader)));
  t.is(asked.length, 4);
  t.is(texts[0], texts[1]);
  t.regex(texts[0]!, /n0 0\n[^]*n1 1\n$/);
  t.regex(texts[2]!, /# EOF\n$/);
  void scrapes.read('text', ask);
  await setImmediate();
  t.is(asked.length, 5);
});

test('a failure reaches clients: as an error before the first page, and as a text that is cut off later', async (t) => {
  const scrapes = new SharedScrapes();
  await t.throwsAsync(
    scrapes.read('text', () => Promise.reject(new Error('away'))),
    { message: 'away' },
  );
  const { asked, ask } = slowPages(2);
  const reading = scrapes.read('openmetrics', (next) => (next === undefined ? ask(next) : Promise.reject(new Error('away'))));
  await setImmediate();
  asked[0]!.give();
  await t.throwsAsync(all(await reading), { message: 'away' });
});

test('clients that do not read lose their scrape to later ones', async (t) => {
  const scrapes = new SharedScrapes();
  const page: FigurePage = { families: [{ name: 'n', help: 'Help.', kind: 'gauge', samples: [[{}, 1]] }], next: '1' };
  const ask = (next: string | undefined): Promise<FigurePage> => Promise.resolve(next === undefined ? page : { families: page.families });
  const readers: AsyncGenerator<Uint8Array | string>[] = [];
  for (let at = 0; at < 6; at++) {
    const reader = await scrapes.read('text', ask);
    await reader.next();
    await setImmediate();
    readers.push(reader);
  }
  await t.throwsAsync(all(readers[0]!), { message: /too slow/ });
  t.is(await all(readers[5]!), 'n 1\n');
});

test('the format is the one that a client prefers', (t) => {
  t.is(acceptedFormat(), 'text');
  t.is(acceptedFormat('*/*'), 'text');
  t.is(
    acceptedFormat('application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;q=0.5'),
    'openmetrics',
  );
  t.is(acceptedFormat('application/openmetrics-text; version=1.0.0; q=0.3, text/plain;version=0.0.4;q=0.4'), 'text');
  t.is(acceptedFormat('application/openmetrics-text;version=0.0.1,text/plain;q=0.5'), 'text');
  t.is(acceptedFormat('application/json'), 'text');
  const messages = 'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited';
  t.is(acceptedFormat(`${messages},application/openmetrics-text;version=1.0.0;q=0.8,text/plain;q=0.5`), 'protobuf');
  t.is(acceptedFormat('application/vnd.google.protobuf;proto=other;encoding=delimited,text/plain;q=0.5'), 'text');
});

test('nodes of a cluster are shown, where there is one', async (t) => {
  const node = {
    address: '10.0.0.1',
    srv: '1',
    since: 0,
    entry: undefined,
    reason: undefined,
    isStale: false,
    drift: [],
    pairs: undefined,
  };
  const view: ClusterView = {
    name: 'shop',
    node: 'a',
    version: 7,
    nodes: [
      { ...node, name: 'a', version: 7, state: 'in_sync', lag: 0 },
      { ...node, name: 'b', version: 5, state: 'behind', lag: 3 },
      { ...node, name: 'c', version: 5, state: 'away', lag: undefined },
    ],
    redis: { name: 'main', state: 'ready', reason: undefined, since: 0, role: 'master', latency: 2, memory: undefined },
  };
  const read = readOpenMetrics((await textOf([...clusterFamilies(view)], 'openmetrics')).text);
  t.deepEqual(
    read.flatMap(({ samples }) => samples.map(({ name, labels, value }) => `${name} ${labels['node'] ?? ''} ${value}`)),
    [
      'srv_cluster_redis_up  1',
      'srv_cluster_redis_latency_seconds  0.002',
      'srv_cluster_node_in_sync a 1',
      'srv_cluster_node_in_sync b 0',
      'srv_cluster_node_in_sync c 0',
      'srv_cluster_node_version a 7',
      'srv_cluster_node_version b 5',
      'srv_cluster_node_version c 5',
      'srv_cluster_node_lag_seconds a 0',
      'srv_cluster_node_lag_seconds b 3',
      'srv_metrics_other_samples  0',
    ],
  );
  t.deepEqual([...clusterFamilies({ ...view, redis: undefined })], []);
});

function* hidden(): Generator<undefined> {
  for (let at = 0; at < 200_000; at++) yield undefined;
}

test('others run while samples are passed over, or are added up because there are too many', async (t) => {
  const families: AnyFamily[] = [
    counter('none', hidden()),
    counter('many', [...each(1), ...Array.from({ length: 200_000 }, () => ({ labels: { upstream: 'u', server: 's' }, value: 1 }))]),
  ];
  const listings = new Listings({ rejected: (reason) => t.fail(reason), most: 10 });
  let turns = 0;
  const over = new AbortController();
  const others = (async () => {
    for (; !over.signal.aborted; turns++) await setImmediate();
  })();
  const page = await listings.page(listings.begin({ families, done: () => undefined }));
  over.abort();
  await others;
  t.deepEqual(
    page?.families.map(({ name, samples }) => [name, samples.length]),
    [
      ['many', 11],
      ['srv_metrics_other_samples', 1],
    ],
  );
  t.true(turns >= 3, `${turns} turns`);
});
