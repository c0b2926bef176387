import test from 'ava';
import { connectRaw, get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const COUNTING = plugin('counting', {
  imports: `import { Metrics } from 'srv/module/metrics.js';`,
  manifest: `directives: { count: directive({ in: ['location'], args: text() }) }`,
  body: `
  static services = [Metrics];
  constructor(metrics) {
    this.metrics = metrics;
    this.hits = metrics.counter('counting_hits_total');
    this.busy = metrics.gauge('counting_busy');
  }
  compile(scope) {
    const what = scope.conf.count;
    if (what === undefined) return undefined;
    return {
      content: (request) => {
        if (what === 'read') return request.send(200, JSON.stringify(this.metrics.read().map(({ name, value }) => [name, value])));
        this.hits.add();
        this.busy.add(1);
        if (what === 'crash') setImmediate(() => { throw new Error('crash'); });
        else request.atEnd(() => this.busy.add(-1));
        return what === 'crash' ? -2 : request.send(200, 'ok');
      },
    };
  }`,
});

test('counters and gauges of a module are exact over the workers, also when one dies', async (t) => {
  const srv = await startSrv(
    t,
    `load_module modules/counting.js;
    worker_processes 2;
    events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location /hit { count hit; }
        location /crash { count crash; }
        location /read { count read; }
      }
    }`,
    { files: { 'modules/counting.js': COUNTING }, allowCrashes: true },
  );
  const port = srv.port('web');
  await Promise.all(Array.from({ length: 30 }, () => get(port, '/hit')));
  const read = async (): Promise<string> => (await get(port, '/read')).body;
  // A request ends after its client has the response.
  await waitFor('the end of all', async () => (await read()) === '[["counting_busy",0],["counting_hits_total",30]]');
  const client = await connectRaw(t, port);
  client.send('GET /crash HTTP/1.1\r\nHost: a\r\n\r\n');
  await waitFor('the end of the worker', () => client.closed);
  await waitFor('its share to be gone', async () => (await read()) === '[["counting_busy",0],["counting_hits_total",31]]');
  t.pass();
});

/** Counts the requests of each zone that a location names. */
const ZONES = plugin('zones', {
  imports: `import { Metrics } from 'srv/module/metrics.js';`,
  manifest: `directives: { zone_of: directive({ in: ['location'], args: text() }) }`,
  body: `
  static services = [Metrics];
  constructor(metrics) {
    this.metrics = metrics;
  }
  compile(scope) {
    const zone = scope.conf.zone_of;
    if (zone === undefined) return undefined;
    const requests = this.metrics.group(zone, scope).counter('zones_requests_total', { zone });
    return { log: () => requests.add() };
  }`,
});

const READING = plugin('reading', {
  imports: `import { Metrics } from 'srv/module/metrics.js';`,
  manifest: `directives: { read_metrics: directive({ in: ['location'], args: text() }) }`,
  body: `
  static services = [Metrics];
  constructor(metrics) {
    this.metrics = metrics;
  }
  compile(scope) {
    if (scope.conf.read_metrics === undefined) return undefined;
    const lines = () => this.metrics.read().map(({ name, labels, value }) => [name, ...Object.values(labels), value].join(' '));
    return { content: (request) => request.send(200, lines().filter((line) => /requests_total|counting/.test(line)).sort().join(', ')) };
  }`,
});

const conf = (load: string, locations: string): string => `
  load_module modules/reading.js; load_module modules/zones.js; ${load}
  error_log logs/error.log notice;
  worker_processes 2;
  events {}
  http { server { listen 127.0.0.1:%%PORT_web%%; location /read { read_metrics all; } ${locations} } }`;

const zones = (names: readonly string[]): string =>
  names.map((name) => `location /${name} { zone_of ${name}; return 200 ${name}; }`).join('\n');

const zone = (name: string, requests: number): string => `zones_requests_total ${name} ${requests}`;

test('metrics end with what the configuration names, and with their module', async (t) => {
  const files = { 'modules/counting.js': COUNTING, 'modules/reading.js': READING, 'modules/zones.js': ZONES };
  const srv = await startSrv(t, conf('load_module modules/counting.js;', `${zones(['one', 'two'])} location /hit { count hit; }`), {
    files,
  });
  const port = srv.port('web');
  const read = async (): Promise<string> => (await get(port, '/read')).body;
  for (const path of ['/one', '/two', '/two', '/hit']) await get(port, path);
  const all = ['counting_busy 0', 'counting_hits_total 1', zone('one', 1), zone('two', 2)].sort().join(', ');
  await waitFor('all figures', async () => (await read()) === all);
  await srv.configure(conf('', zones(['two', 'three'])));
  srv.signal('SIGHUP');
  await srv.waitForLog(/reconfigured/);
  await get(port, '/three');
  const expected = new Set([zone('two', 2), zone('three', 1)]);
  await waitFor('the metrics of before to go', async () => {
    const lines = (await read()).split(', ');
    return lines.length === expected.size && lines.every((line) => expected.has(line));
  });
  t.pass();
});
