import { setImmediate } from 'node:timers/promises';
import { SharedFigures } from '../../../core/zone/figures.js';
import { Zone } from '../../../core/zone/zone.js';
import { Listings } from '../../../core/toolkit/figures/listings.js';
import type { FigurePage } from '../../../core/toolkit/figures/page.js';
import { TextExposition } from '../../../modules/metrics/exposition.js';
import { Collector } from '../../../modules/vts/collector.js';
import { AttemptFigure, Http, HTTP_SHAPE, keyOf, MEMBER_SHAPE, UPSTREAM_SHAPE } from '../../../modules/vts/layout.js';
import { collectFamilies } from '../../../modules/vts/families.js';
import { Pages } from '../../../modules/vts/pages.js';
import { Rates } from '../../../modules/vts/rates.js';
import type { Figures, Scenario } from '../scenario.js';
import { threadTime } from '../thread-clock.js';

const SERVERS = 1000;
const UPSTREAMS = 1000;
const MEMBERS = 10;
const MEMORY = 128 * 1024 * 1024;
/** Of all pieces of work the longest counts, and of the runs the one where it is least: what else the machine does only adds. */
const RUNS = 5;

export const scrapeScenario: Scenario = {
  name: 'scrape',
  title: 'Reading the figures of 1,000 servers and 10,000 members',
  how:
    `In the process of the benchmark: ${SERVERS} servers and ${UPSTREAMS} upstreams of ${MEMBERS} members that have all counted, in shared memory. Processor time ` +
    'between two turns of the event loop, the longest one of a whole reading: what else the thread has to do waits so long at most. `/metrics`: the data plane lists ' +
    'figures as JSON, and the control plane makes the text of each page; `/v1/vts`; and the rates, which are measured each second.',
  columns: [
    { key: 'list', title: '/metrics: longest, data plane', unit: 'ms', digits: 2 },
    { key: 'text', title: 'control plane', unit: 'ms', digits: 2 },
    { key: 'pages', title: '/v1/vts: longest', unit: 'ms', digits: 2 },
    { key: 'rates', title: 'rates: longest', unit: 'ms', digits: 2 },
    { key: 'listAll', title: '/metrics: CPU, data plane', unit: 'ms', digits: 0 },
    { key: 'textAll', title: 'control plane', unit: 'ms', digits: 0 },
    { key: 'megabytes', title: 'text', unit: 'MB', digits: 1 },
  ],
  oursOnly: true,
  obstacle: () => undefined,
  measure: async (): Promise<Figures> => {
    const collector = filled();
    const runs: Figures[] = [];
    for (let run = 0; run < RUNS; run++) runs.push(await readAll(collector));
    return Object.fromEntries(Object.keys(runs[0]!).map((key) => [key, Math.min(...runs.map((one) => one[key]!))]));
  },
};

/** Rows of a worker that has counted, as the main thread reads them. */
function filled(): Collector {
  const zone = Zone.create('figures', MEMORY);
  const [main, worker] = [-1, 0].map((thread) => SharedFigures.open(zone, thread, 1, { now: Date.now() })!) as [
    SharedFigures,
    SharedFigures,
  ];
  for (let server = 0; server < SERVERS; server++) count(worker.row(keyOf('server', `www${server}.example`), HTTP_SHAPE), Http.Statuses, 1);
  for (let upstream = 0; upstream < UPSTREAMS; upstream++) {
    const name = `upstream${upstream}`;
    count(worker.row(keyOf('upstream', name), UPSTREAM_SHAPE), AttemptFigure.Statuses, UPSTREAM_SHAPE.distributions);
    for (let member = 0; member < MEMBERS; member++)
      count(worker.row(keyOf('member', name, `10.0.${member}.${upstream % 250}:80`), MEMBER_SHAPE), AttemptFigure.Statuses, 1);
  }
  const known = { get: () => undefined };
  const tables = { all: [main], forget: () => undefined };
  return new Collector(tables as never, { http: known, stream: known, addresses: () => new Set() }, () => undefined);
}

function count(row: ReturnType<SharedFigures['row']>, statuses: number, distributions: number): void {
  if (row === undefined) throw new Error('the memory is too small');
  for (let counter = 0; counter < statuses; counter++) row.add(counter, 1000 + counter);
  for (let status = 0; status < 12; status++) row.add(statuses + 5 * status, 1 + status);
  for (let distribution = 0; distribution < distributions; distribution++)
    for (let value = 1; value < 2000; value = Math.ceil(value * 1.3)) row.observe(distribution, value);
}

async function readAll(collector: Collector): Promise<Figures> {
  await collector.list(setImmediate);
  const rates = new Rates();
  const sampled = new Stops();
  await sampled.during(() => rates.sample(collector.rows, Date.now(), setImmediate));
  const pages = new Stops();
  await pages.during(async () => {
    const listing = new Pages(collector, rates, setImmediate);
    for (let page = await listing.page({}); page !== undefined; page = page.next === undefined ? undefined : await listing.page(page)) {
      JSON.stringify(page);
      await setImmediate();
    }
  });
  const list = new Stops();
  const text = new Stops();
  const listings = new Listings({ rejected: (reason) => process.stderr.write(`${reason}\n`) });
  const exposition = new TextExposition('text');
  let bytes = 0;
  let id = await list.during(() => {
    const { families } = collectFamilies(collector, { of: () => undefined });
    return Promise.resolve(listings.begin({ families, done: () => undefined }));
  });
  for (;;) {
    const json = await list.during(async () => JSON.stringify(await listings.page(id)));
    const next = await text.during(() => {
      const page = JSON.parse(json) as FigurePage;
      for (const family of page.families) bytes += exposition.family(family).length;
      return Promise.resolve(page.next);
    });
    if (next === undefined) break;
    id = next;
  }
  return {
    list: list.longest,
    text: text.longest,
    pages: pages.longest,
    rates: sampled.longest,
    listAll: list.all,
    textAll: text.all,
    megabytes: bytes / 1e6,
  };
}

/** Processor time that work holds the thread for between two turns of the event loop. */
class Stops {
  /** Milliseconds. */
  longest = 0;
  all = 0;

  async during<T>(work: () => Promise<T>): Promise<T> {
    const over = new AbortController();
    let last = threadTime();
    const done = work().finally(() => over.abort());
    do {
      await setImmediate();
      const now = threadTime();
      this.longest = Math.max(this.longest, now - last);
      this.all += now - last;
      last = now;
    } while (!over.signal.aborted);
    return done;
  }
}
