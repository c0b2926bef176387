import { existsSync, writeFileSync } from 'node:fs';
import test from 'ava';
import { plugin } from '../harness/plugins.js';
import { waitFor } from '../harness/wait.js';
import { nodeConf, startNode } from './node.js';

/** Every worker but the first blocks when its modules are loaded, until there is a file `go`. */
const SLOW_START = plugin('slow', {
  imports: `import { existsSync, writeFileSync } from 'node:fs'; import { ServerInfo } from 'srv/module/server-info.js';`,
  manifest: `directives: {}`,
  body: `
    static services = [ServerInfo];
    constructor(info) {
      if (info.worker < 1) return;
      writeFileSync(info.path('starting-' + info.worker), '');
      const nothing = new Int32Array(new SharedArrayBuffer(4));
      while (!existsSync(info.path('go'))) Atomics.wait(nothing, 0, 0, 20);
    }`,
});

test('changes do not wait for workers that are starting, which have them when they take their first connection', async (t) => {
  const options = {
    http: `
      upstream demo { zone demo 256k; server 127.0.0.1:%%PORT_one%%; }
      server { listen 127.0.0.1:%%PORT_one%%; return 200 "one"; }
      server { listen 127.0.0.1:%%PORT_two%%; return 200 "two"; }`,
    main: 'load_module modules/slow.js;',
    server: 'location / { proxy_pass http://demo; } location /kv { return 200 "[$kv_http_color]"; }',
    files: { 'modules/slow.js': SLOW_START },
  };
  const node = await startNode(t, { ...options, workers: 1 });
  await node.srv.configure(nodeConf({ ...options, workers: 4 }));
  node.srv.signal('SIGHUP');
  await waitFor('three workers that start', () => [1, 2, 3].every((worker) => existsSync(node.srv.path(`starting-${worker}`))));
  for (const color of ['red', 'green', 'blue']) t.is((await node.call('POST', '/kv', { key: 'color', value: color })).status, 200);
  t.is((await node.upstreams('POST', '/demo/servers/', { server: '10.0.0.1', weight: 0 })).status, 400);
  t.is((await node.upstreams('PUT', '/demo/servers/', [{ server: `127.0.0.1:${node.srv.port('two')}` }])).status, 200);
  writeFileSync(node.srv.path('go'), '');
  await node.srv.waitForLog(/reconfigured/);
  const answers = await Promise.all(Array.from({ length: 40 }, (_, at) => node.web(at % 2 === 0 ? '/kv' : '/')));
  for (const [at, { body }] of answers.entries()) t.is(body, at % 2 === 0 ? '[blue]' : 'two');
  t.notRegex(node.srv.log(), /in time|exited with code/);
});
