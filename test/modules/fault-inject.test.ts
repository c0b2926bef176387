import http2 from 'node:http2';
import test from 'ava';
import { EDITS_MODULE, editsModule } from '../../tools/bench/scenarios/edits-module.js';
import { Shares } from '../../modules/fault_inject/shares.js';
import { startNode } from '../control/node.js';
import { httpBackend } from '../harness/backends.js';
import { check } from '../harness/check.js';
import { connectRaw, get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { fileScope } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const METRICS = plugin('read_metrics', {
  imports: `import { Metrics } from 'srv/module/metrics.js';`,
  manifest: `directives: { read_metrics: directive({ in: ['location'] }) }`,
  body: `
  static services = [Metrics];
  constructor(metrics) {
    this.metrics = metrics;
  }
  compile(scope) {
    const line = ({ name, labels, value }) => name + ' ' + labels.type + ' ' + value;
    return scope.conf.read_metrics && { content: (request) => request.send(200, this.metrics.read().map(line).join('\\n')) };
  }`,
});

const MODULE = 'load_module modules/srv_http_fault_inject_module.so;';

const scope = fileScope();
const started = startSrv(
  scope,
  `${MODULE} load_module modules/read_metrics.js;
  worker_processes 1;
  error_log logs/error.log info;
  events {}
  http {
    log_format faults '$request_uri $status $fault_injected';
    access_log logs/access.log faults;
    keepalive_requests 1000000;
    server {
      listen 127.0.0.1:%%PORT_web%%;
      http2 on;
      root html;
      location / { }
      location /abort { fault_inject type=abort status_code=418; }
      location /default { fault_inject type=abort; error_page 503 /page; }
      location /page { }
      location /fine { fault_inject type=abort status_code=200; }
      location /delay { fault_inject type=delay delay_duration=300ms; }
      location /both { fault_inject type=delay_abort delay_duration=200ms status_code=500; }
      location /neither { fault_inject type=delay_abort delay_duration=1h delay_percentage=0 abort_percentage=0; }
      location /if { fault_inject type=abort if=$arg_fault; }
      location /denied { deny all; fault_inject type=abort status_code=500; }
      location /outer { fault_inject type=abort; location /outer/off { fault_inject type=none; } location /outer/same { } }
      location /long { fault_inject type=delay delay_duration=1h; }
      location /third { fault_inject type=abort abort_percentage=33.33 status_code=404; }
      location = /metrics { read_metrics; }
    }
  }`,
  {
    files: {
      'modules/read_metrics.js': METRICS,
      ...Object.fromEntries(
        ['page', 'delay', 'neither', 'if', 'outer/off', 'outer/same', 'third', 'free'].map((name) => [`html/${name}`, `<${name}>`]),
      ),
    },
  },
);

test('aborts: a status, its error page, or an empty response', async (t) => {
  const port = (await started).port('web');
  t.is((await get(port, '/abort')).status, 418);
  const paged = await get(port, '/default');
  t.deepEqual([paged.status, paged.body], [503, '<page>']);
  const fine = await get(port, '/fine');
  t.deepEqual([fine.status, fine.body], [200, '']);
  t.is((await get(port, '/denied')).status, 403, 'access rules come first');
  t.is((await get(port, '/outer/same')).status, 503);
  t.is((await get(port, '/outer/off')).status, 200);
  await (await started).waitForLog(/\[info\] .*fault injected: aborted with 418, client: 127\.0\.0\.1, /);
  await (await started).waitForLog(/^\/abort 418 abort$/m, 'logs/access.log');
  await (await started).waitForLog(/^\/outer\/off 200 -$/m, 'logs/access.log');
});

test('delays: the response comes later, and other requests do not wait', async (t) => {
  const port = (await started).port('web');
  const order: string[] = [];
  const ask = async (path: string): Promise<number> => {
    const { status } = await get(port, path);
    order.push(path);
    return status;
  };
  t.deepEqual(await Promise.all([ask('/delay'), ask('/both'), ask('/free')]), [200, 500, 200]);
  t.deepEqual(order, ['/free', '/both', '/delay']);
  t.is(await ask('/neither'), 200);
  await (await started).waitForLog(/\[info\] .*fault injected: delayed by 300 ms, client: /);
  await (await started).waitForLog(/^\/delay 200 delay$/m, 'logs/access.log');
  await (await started).waitForLog(/^\/both 500 delay_abort$/m, 'logs/access.log');
});

test('if: only requests for which the text is neither empty nor 0', async (t) => {
  const port = (await started).port('web');
  const statuses: number[] = [];
  for (const args of ['', '?fault=', '?fault=0', '?fault=1', '?fault=yes']) statuses.push((await get(port, `/if${args}`)).status);
  t.deepEqual(statuses, [200, 200, 200, 503, 503]);
});

test('a delayed client that leaves is let go, and faults are counted', async (t) => {
  const srv = await started;
  const port = srv.port('web');
  const client = await connectRaw(t, port);
  client.send('GET /long HTTP/1.1\r\nHost: a\r\n\r\n');
  await srv.waitForLog(/fault injected: delayed by 3600000 ms/);
  client.socket.destroy();
  await srv.waitForLog(/^\/long 499 delay$/m, 'logs/access.log');
  await waitFor('the metrics', async () => {
    const { body } = await get(port, '/metrics');
    return /^srv_http_fault_inject_total delay [1-9]/m.test(body) && /^srv_http_fault_inject_total abort [1-9]/m.test(body);
  });
  t.pass();
});

test('a connection is kept over an abort before its body, which is not read', async (t) => {
  const client = await connectRaw(t, (await started).port('web'));
  client.send('POST /abort HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n');
  await client.receive(/^HTTP\/1\.1 418 /);
  t.notRegex(client.received, /100 Continue/);
  client.take();
  const kept = await connectRaw(t, (await started).port('web'));
  kept.send('POST /abort HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello');
  await kept.receive(/^HTTP\/1\.1 418 /);
  kept.take();
  kept.send('GET /free HTTP/1.1\r\nHost: a\r\n\r\n');
  await kept.receive(/<free>$/);
});

test('HTTP/2: streams are delayed and aborted one by one', async (t) => {
  const session = http2.connect(`http://127.0.0.1:${(await started).port('web')}`);
  t.teardown(() => session.destroy());
  const order: string[] = [];
  const ask = (path: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const stream = session.request({ ':path': path });
      let status = 0;
      stream.on('response', (head) => (status = Number(head[':status'])));
      stream.on('error', reject);
      stream.on('close', () => {
        order.push(path);
        resolve(status);
      });
      stream.resume();
    });
  t.deepEqual(await Promise.all([ask('/delay'), ask('/abort'), ask('/free')]), [200, 418, 200]);
  t.is(order.at(-1), '/delay');
});

test('percentages are exact over 100,000 requests, also of delays and aborts at once', (t) => {
  for (const [first, second] of [
    [0.5, 0.5],
    [0.01, 1],
    [0.3333, 0.1],
    [1, 0.0001],
  ] as const) {
    const shares = new Shares(first, second);
    const counts = [0, 0, 0];
    for (let count = 0; count < 100_000; count++) {
      shares.next();
      counts[0]! += Number(shares.isInFirst);
      counts[1]! += Number(shares.isInSecond);
      counts[2]! += Number(shares.isInFirst && shares.isInSecond);
    }
    const expected = [first, second, first * second].map((share) => share * 100_000);
    for (const [at, count] of counts.entries()) t.true(Math.abs(count - expected[at]!) < 100, `${first} ${second}: ${counts.join(' ')}`);
  }
});

test('a percentage is exact over thousands of requests of one connection', async (t) => {
  const client = await connectRaw(t, (await started).port('web'));
  const total = 3000;
  client.send('GET /third HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(total));
  const count = (pattern: RegExp): number => client.received.match(pattern)?.length ?? 0;
  await waitFor('all responses', () => count(/HTTP\/1\.1 \d/g) === total);
  const aborted = count(/HTTP\/1\.1 404 /g);
  t.true(Math.abs(aborted - total / 3) < total / 100, `${aborted} of ${total}`);
});

test('the API changes it while requests come', async (t) => {
  const backend = await httpBackend(t, (_, response) => response.end('page'));
  const node = await startNode(t, {
    main: `${MODULE} load_module ${EDITS_MODULE};`,
    server: `location / { proxy_pass http://127.0.0.1:${backend.port}; }`,
    files: {
      [EDITS_MODULE]: editsModule,
      'conf/ctrl.conf': `
        load_module modules/srv_http_upstream_api_module.so;
        load_module ${EDITS_MODULE};
        events {}
        http { server { listen 127.0.0.1:%%PORT_api%%; location /api { dyn_module_api; } } }`,
    },
  });
  const edit = async (call: object): Promise<void> => {
    const { status, body } = await node.call('POST', '/bench_edits', call);
    t.is(status, 200, body);
  };
  t.is((await node.web()).status, 200);
  await edit({ op: 'add', target: 'location 0 0', name: 'fault', text: 'fault_inject type=abort status_code=418;' });
  t.is((await node.web()).status, 418);
  await edit({ op: 'replace', target: 'fault', text: 'fault_inject type=abort status_code=500;' });
  t.is((await node.web()).status, 500);
  await edit({ op: 'remove', target: 'fault' });
  t.is((await node.web()).status, 200);
});

for (const [faults, message] of Object.entries({
  'delay_duration=1s': '"fault_inject" must have "type" parameter',
  'type=delay': '"fault_inject" must have "delay_duration" parameter',
  'type=delay_abort': '"fault_inject" must have "delay_duration" parameter',
  'type=crash': 'invalid parameter "type=crash"',
  'type=delay delay_duration=soon': 'invalid parameter "delay_duration=soon"',
  'type=delay delay_duration=30d': '"delay_duration" is too long',
  'type=abort abort_percentage=101': 'invalid parameter "abort_percentage=101"',
  'type=abort abort_percentage=0.001': 'invalid parameter "abort_percentage=0.001"',
  'type=abort status_code=199': 'invalid parameter "status_code=199"',
  'type=abort status_code=600': 'invalid parameter "status_code=600"',
  'type=abort if=$nowhere': 'unknown "nowhere" variable',
  'type=abort jitter=1s': 'invalid parameter "jitter=1s"',
})) {
  test(`rejected: ${faults}`, async (t) => {
    const { stderr } = await check(t, `${MODULE} events {} http { server { location / { fault_inject ${faults}; } } }`);
    t.true(stderr.includes(`${message} in `), stderr);
  });
}

test('a warning: beside return it has no effect', async (t) => {
  const lines = 'fault_inject type=abort; location /a { fault_inject type=abort; return 200; } if ($arg_a) { return 403; }';
  const { stderr, code } = await check(t, `${MODULE} events {} http { server { location / { ${lines} } } }`);
  t.is(code, 0, stderr);
  t.is(stderr.match(/\[warn\] "fault_inject" has no effect beside "return" in \S*srv.conf:1/g)?.length, 1, stderr);
});
