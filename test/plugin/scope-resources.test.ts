/** What a module opens or reads while it compiles lives as long as the configuration that it is part of. */
import test from 'ava';
import { writeFileSync } from 'node:fs';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv } from '../harness/srv.js';
import { startSrv as startSite, type Site } from '../../testing/server.js';
import { waitFor } from '../harness/wait.js';

const KEYS = plugin('keys', {
  manifest: `directives: { keys: directive({ in: ['http', 'server', 'location'], args: text('file') }) }`,
  imports: `import { Log } from 'srv/module/log.js'; import { setTimeout as sleep } from 'node:timers/promises';`,
  body: `
  static services = [Log];
  constructor(log) { this.log = log; }
  compile(scope) {
    if (scope.conf.keys === undefined || scope.kind !== 'location') return undefined;
    const lines = scope.file(scope.conf.keys, parse, 'keys');
    const name = scope.directive.args[0].text;
    this.log.write('notice', 'compiled ' + name);
    for (const step of ['commit', 'abort', 'release']) scope.register({ [step]: () => this.log.write('notice', step + ' ' + name) });
    return { content: async (request) => {
      if (request.args === 'slow') { this.log.write('notice', 'slow request begins'); await sleep(1500); }
      return request.send(200, lines.join(','));
    } };
  }`,
}).concat(`
function parse(file) {
  return file.text.trim().split('\\n').map((line, at) => line.includes('bad') ? file.fail(at + 1, 'bad key "' + line + '"', 'write a good one') : line);
}`);

function conf(servers: string): string {
  return `load_module modules/keys.js; worker_processes 2; error_log logs/error.log notice; events {}
    http { server { listen 127.0.0.1:%%PORT_web%%; ${servers} } }`;
}

const times = (log: string, pattern: RegExp): number => [...log.matchAll(pattern)].length;

test('a file is an input: a reload compiles what uses a changed one, and reports errors at its lines', async (t) => {
  const text = conf('location /a { keys %%PREFIX%%/conf/a.txt; } location /b { keys %%PREFIX%%/conf/b.txt; }');
  const srv = await startSrv(t, text, { files: { 'modules/keys.js': KEYS, 'conf/a.txt': 'one\ntwo\n', 'conf/b.txt': 'other\n' } });
  const port = srv.port('web');
  t.is((await get(port, '/a')).body, 'one,two');
  const compiled = times(srv.log(), /compiled \/b/g);

  writeFileSync(srv.path('conf/a.txt'), 'three\n');
  srv.signal('SIGHUP');
  await waitFor('the new keys in both workers', async () => {
    for (let i = 0; i < 8; i++) if ((await get(port, '/a')).body !== 'three') return false;
    return true;
  });
  t.is(times(srv.log(), /compiled \/b/g), compiled, 'whose file is the same stays as it is');

  writeFileSync(srv.path('conf/a.txt'), 'three\nbad\n');
  srv.signal('SIGHUP');
  await srv.waitForLog(/\[emerg\].* bad key "bad" in \S+a\.txt:2/);
  t.is((await get(port, '/a')).body, 'three');
});

test('what a scope opened is committed or aborted with the change, and released after the last request', async (t) => {
  const files = { 'modules/keys.js': KEYS, 'conf/a.txt': 'one\n' };
  const srv = await startSrv(t, conf('location /a { keys %%PREFIX%%/conf/a.txt; } location /stay { return 200 stay; }'), { files });
  const port = srv.port('web');
  await srv.waitForLog(/commit \/a/);
  t.notRegex(srv.log(), /(abort|release) \/a/);

  await srv.configure(
    conf('location /a { keys %%PREFIX%%/conf/a.txt; } location /new { keys %%PREFIX%%/conf/a.txt; } location /none { keys /nowhere/x; }'),
  );
  srv.signal('SIGHUP');
  await srv.waitForLog(/open\(\) "\/nowhere\/x" failed \(2: No such file or directory\) in/);
  await srv.waitForLog(/abort \/new/);
  t.notRegex(srv.log(), /commit \/new/);

  const slow = get(port, '/a?slow');
  await srv.waitForLog(/slow request begins/);
  await srv.configure(conf('location /stay { return 200 changed; }'));
  srv.signal('SIGHUP');
  await waitFor('the new configuration', async () => (await get(port, '/stay')).body === 'changed');
  t.is((await slow).body, 'one', 'a request ends under the configuration that it began under');
  await srv.waitForLog(/release \/a(?:[^]*release \/a){2}/);
});

const STREAMS = plugin('streams', {
  manifest: `directives: { ticks: directive({ in: ['location'] }) }`,
  body: `
  compile(scope) {
    if (scope.conf.ticks !== true) return undefined;
    const { signal } = scope;
    return { content: (request) => {
      if (request.args === 'late') {
        try { return request.send(200, String(scope.signal.aborted)); } catch (error) { return request.send(200, error.message); }
      }
      const body = request.respond(200, 'text/event-stream');
      const end = () => { body.write('over'); body.end(); };
      body.write('begun ');
      signal.addEventListener('abort', end);
      body.onClose(() => signal.removeEventListener('abort', end));
      return -2;
    } };
  }`,
});

const streamSite = (locations: string): Site => ({
  modules: ['%%PREFIX%%/streams.mjs'],
  files: { 'streams.mjs': STREAMS },
  server: locations,
});

test('the streams of a scope end when it is not active any more, by its signal, and other changes leave them alone', async (t) => {
  await using srv = await startSite(streamSite('location /gone { ticks; } location /changed { ticks; } location /stays { ticks; }'));
  t.regex((await srv.get('/stays?late')).body, /^"signal" of a scope must be read in "compile"/);
  const [gone, changed, stays] = await Promise.all([srv.open('/gone'), srv.open('/changed'), srv.open('/stays')]);

  await srv.reload(streamSite('location /changed { ticks; add_header A b; } location /stays { ticks; } location /new { return 204; }'));
  t.deepEqual([await gone.end(), gone.text], ['complete', 'begun over']);
  t.deepEqual([await changed.end(), changed.text], ['complete', 'begun over']);
  t.is((await srv.get('/new')).status, 204);
  await stays.receive(/begun /);
  t.is(stays.ended, 'no');

  await srv.reload(streamSite('location /changed { ticks; }'));
  t.deepEqual([await stays.end(), stays.text], ['complete', 'begun over']);
});
