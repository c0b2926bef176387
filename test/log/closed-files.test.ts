/** Log files are closed when nothing of the configuration writes to them any more. */
import { readdirSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import test from 'ava';
import { EDITS_MODULE, editsModule } from '../../tools/bench/scenarios/edits-module.js';
import { startNode } from '../control/node.js';
import { httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** The logs that the server has open in any of its threads. */
function openLogs({ pid }: Srv): string[] {
  const names = readdirSync(`/proc/${pid}/fd`).map((descriptor) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${descriptor}`);
    } catch {
      return ''; // closed meanwhile
    }
  });
  return [...new Set(names.filter((name) => name.endsWith('.log')).map((name) => basename(name)))].toSorted();
}

const untilOpen = (srv: Srv, expected: readonly string[]): Promise<unknown> =>
  waitFor(`only ${expected.join(', ')} to be open, not ${openLogs(srv).join(', ')}`, () => openLogs(srv).join() === expected.join());

const text = (log: string): string => `location /x { access_log logs/${log}.log; return 200; }`;

test('after a reload a log stays open until the last request that began before it is over', async (t) => {
  const held: (() => void)[] = [];
  const backend = await httpBackend(t, (_, response) => held.push(() => response.end('late')));
  const conf = (name: string): string => `
    worker_processes 2;
    error_log logs/error.log notice;
    events {}
    http {
      access_log logs/${name}.log;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { error_log logs/${name}-errors.log; return 200; }
        location /slow { proxy_pass http://127.0.0.1:${backend.port}; }
      }
    }`;
  const srv = await startSrv(t, conf('first'));
  t.deepEqual(openLogs(srv), ['error.log', 'first-errors.log', 'first.log']);
  const slow = get(srv.port('web'), '/slow');
  await waitFor('the request at the member', () => held.length === 1);
  for (const name of ['second', 'third']) {
    await srv.configure(conf(name));
    srv.signal('SIGHUP');
    await waitFor(`${name}.log`, () => openLogs(srv).includes(`${name}.log`));
  }
  await srv.waitForLog(/(reconfigured[^]*){2}/);
  t.true(openLogs(srv).includes('first.log'));
  for (const release of held) release();
  await slow;
  await srv.waitForLog(/GET \/slow/, 'logs/first.log');
  await untilOpen(srv, ['error.log', 'third-errors.log', 'third.log']);
});

const named = (inside: string): string => `
  error_log logs/error.log notice;
  events {}
  http {
    access_log off;
    server { listen 127.0.0.1:%%PORT_web%%; location / { return 200; } location /named { ${inside} return 200; } }
  }`;

test('files of open_log_file_cache are closed with the last scope that writes to them', async (t) => {
  const srv = await startSrv(t, named('access_log logs/$arg_log.log; open_log_file_cache max=10 inactive=1h;'));
  await get(srv.port('web'), '/named?log=one');
  await untilOpen(srv, ['error.log', 'one.log']);
  await srv.configure(named(''));
  srv.signal('SIGHUP');
  t.truthy(await untilOpen(srv, ['error.log']));
});

const withLog = (settings: string, log: string): string => `
  error_log logs/error.log notice;
  events {}
  http {
    access_log off;
    ${settings}
    server { listen 127.0.0.1:%%PORT_web%%; location /x { access_log logs/${log}.log; return 200; } }
  }`;

test('the log of a location stays open over changes of settings that it does not concern', async (t) => {
  const srv = await startSrv(t, withLog('', 'x'));
  for (const [settings, log] of [
    ['add_header X-A b;', 'x'],
    ['add_header X-A c;', 'x'],
    ['add_header X-A c;', 'y'],
  ] as const) {
    const before = srv.log().length;
    await srv.configure(withLog(settings, log));
    srv.signal('SIGHUP');
    await waitFor('the end of the reload', () => srv.log().slice(before).includes('reconfigured'));
    t.is((await get(srv.port('web'), `/x?${settings.length}${log}`)).status, 200);
    await srv.waitForLog(new RegExp(`GET /x\\?${settings.length}${log}`), `logs/${log}.log`);
    await untilOpen(srv, ['error.log', `${log}.log`]);
  }
});

test('a rejected reload, and changes of the API, leave none open', async (t) => {
  const node = await startNode(t, {
    server: 'access_log logs/all.log; location / { return 200; }',
    main: `load_module ${EDITS_MODULE};`,
    files: {
      [EDITS_MODULE]: editsModule,
      'conf/ctrl.conf': `
        load_module modules/srv_http_upstream_api_module.so;
        load_module ${EDITS_MODULE};
        events {}
        http { server { listen 127.0.0.1:%%PORT_api%%; location /api { dyn_module_api; } } }`,
    },
  });
  const { srv } = node;
  const before = openLogs(srv);
  const edit = async (call: object): Promise<number> => (await node.call('POST', '/bench_edits', call)).status;
  t.is(await edit({ op: 'add', target: 'server 0', name: 'x', text: text('x') }), 200);
  t.true(openLogs(srv).includes('x.log'));
  t.is(await edit({ op: 'replace', target: 'x', text: text('y') }), 200);
  await untilOpen(srv, [...before, 'y.log'].toSorted());
  t.is(await edit({ op: 'replace', target: 'x', text: `location /x { access_log logs/z.log; proxy_pass http://nowhere.invalid; }` }), 400);
  t.is(await edit({ op: 'remove', target: 'x' }), 200);
  await untilOpen(srv, before);
});
