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
  t.is(await read(), '[["counting_busy",0],["counting_hits_total",30]]');
  const client = await connectRaw(t, port);
  client.send('GET /crash HTTP/1.1\r\nHost: a\r\n\r\n');
  await waitFor('the end of the worker', () => client.closed);
  await waitFor('its share to be gone', async () => (await read()) === '[["counting_busy",0],["counting_hits_total",31]]');
  t.pass();
});
