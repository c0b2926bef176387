/** A module whose files have changed runs its new code after a reload; requests under way end in the old code. */
import { rmSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { connectRaw, get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { runSrv, startSrv, type Run, type Srv } from '../harness/srv.js';
import { writeInto } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import { startNode } from '../control/node.js';

interface Speaker {
  /** Numbers in a record of its zone. */
  readonly fields?: string;
  /** At the top level of the file. */
  readonly top?: string;
  /** At the beginning of `compile`. */
  readonly compile?: string;
}

/** `/` shows which code runs: the text of its file, that of files that it imports, its package, and what it was handed over. */
function speaker(text: string, { fields = "'hits'", top = '', compile = '' }: Speaker = {}): Readonly<Record<string, string>> {
  return {
    'modules/lib/speaker.mjs': plugin('speaker', {
      manifest: `directives: { speak: directive({ in: ['http'], args: { zone: param('zone', zone()) } }) }`,
      imports: `
        import { param, zone } from 'srv/module/args.js';
        import { Log } from 'srv/module/log.js';
        import { Tasks } from 'srv/module/tasks.js';
        import { Zones } from 'srv/module/zones.js';
        import { DONE } from 'srv/module/http.js';
        import { word } from './word.mjs';
        import last from 'lastword';
        const waiting = (globalThis.waitingRequests ??= []);
        ${top}`,
      body: `
        static services = [Zones, Tasks, Log];
        heirs = 0;
        constructor(zones, tasks, log) { Object.assign(this, { zones, tasks, log }); }
        start(role, former) {
          this.heirs = (former ?? 0) + 1;
          this.role = role;
          this.tasks.every(200, () => this.log.write('notice', 'task of ${text}'));
        }
        handOver() { return this.heirs; }
        stop() { if (this.role === 'worker') this.log.write('notice', '${text} is stopped'); }
        compile(scope) {
          ${compile}
          if (scope.conf.speak === undefined || scope.kind !== 'location') return undefined;
          const { signal } = scope;
          const records = this.zones.records(scope.conf.speak.zone, { fields: [${fields}] });
          return { content: async (request) => {
            switch (request.uri) {
              case '/slow': await new Promise((done) => waiting.push(done)); return request.send(200, '${text} late');
              case '/waiting': return request.send(200, String(waiting.length));
              case '/release': for (const done of waiting.splice(0)) done(); return request.send(200, 'released');
              case '/hits': return request.send(200, String(records.add('all', 'hits', 1)));
              case '/fail': throw new Error('thrown by ${text}');
              case '/end': setImmediate(() => process.exit(3)); return request.send(200, 'soon');
              case '/stream': {
                const body = request.respond(200, 'text/plain');
                body.write('${text} begins;');
                signal.addEventListener('abort', () => { body.write('${text} ends;'); body.end(); });
                return DONE;
              }
              default: return request.send(200, ['${text}', word, last, this.heirs, import.meta.filename.endsWith('/lib/speaker.mjs')].join());
            }
          } };
        }`,
    }),
    'modules/lib/word.mjs': `import { inner } from '../inner.mjs'; export const word = '${text}' + inner;`,
    'modules/inner.mjs': `export const inner = '+${text}';`,
    'modules/node_modules/lastword/package.json': '{ "main": "index.js" }',
    'modules/node_modules/lastword/index.js': `module.exports = '${text}';`,
  };
}

const conf = (workers = 1, path = 'modules/lib/speaker.mjs', more = ''): string => `
worker_processes ${workers}; load_module ${path}; ${more}
error_log logs/error.log notice;
events {}
http { speak zone=spoken:64k; server { listen 127.0.0.1:%%PORT_web%%; location / { } } }`;

function write(srv: Srv, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) writeInto(srv.prefix, path, text);
}

const reload = (t: ExecutionContext, { prefix }: Srv): Promise<Run> =>
  runSrv(t, ['-s', 'reload', '-c', 'conf/srv.conf'], undefined, { prefix });

/** Reloads without a command. */
async function reconfigure(srv: Srv): Promise<void> {
  const done = (): number => srv.log().split('reconfigured').length;
  const before = done();
  srv.signal('SIGHUP');
  await waitFor('the reload', () => done() > before);
}

async function spoken(srv: Srv, requests = 1): Promise<string[]> {
  const all = await Promise.all(Array.from({ length: requests }, async () => (await get(srv.port('web'), '/')).body));
  return [...new Set(all)];
}

/** A worker has died: connections may be reset until another one accepts them. */
async function waitForSpoken(srv: Srv, text: string): Promise<void> {
  await waitFor(`only "${text}"`, () =>
    spoken(srv, 8).then(
      (all) => all.join() === text,
      () => false,
    ),
  );
}

test('requests under way end in the old code, new ones run the new', async (t) => {
  const srv = await startSrv(t, conf(), { files: speaker('one') });
  const port = srv.port('web');
  t.deepEqual(await spoken(srv), ['one,one+one,one,1,true']);
  t.is((await get(port, '/hits')).body, '1');
  const slow = get(port, '/slow');
  await waitFor('the slow request', async () => (await get(port, '/waiting')).body === '1');
  const stream = await connectRaw(t, port);
  stream.send('GET /stream HTTP/1.1\r\nHost: a\r\n\r\n');
  await stream.receive(/one begins;/);

  write(srv, speaker('two'));
  t.like(await reload(t, srv), { code: 0 });
  t.deepEqual(await spoken(srv), ['two,two+two,one,2,true'], 'what it imports is new, packages are loaded once');
  t.is((await get(port, '/hits')).body, '2', 'a zone with the same fields keeps its records');
  await stream.receive(/one ends;/);
  t.regex(srv.log(), /\[warn\].*lastword\/index\.js" has changed since it was loaded: "srv -s upgrade" or a restart runs it/);
  t.notRegex(srv.log(), /one is stopped/, 'a request still needs it');
  const before = srv.log().length;
  await waitFor('a task of the new version', () => srv.log().slice(before).includes('task of two'));
  t.notRegex(srv.log().slice(before), /task of one/);
  await get(port, '/release');
  t.is((await slow).body, 'one late');
  await srv.waitForLog(/one is stopped/);

  t.is((await get(port, '/fail')).status, 500);
  // Stacks have the path of the file.
  await srv.waitForLog(/thrown by two\\x0A +at content \(file:\S*\/modules\/lib\/speaker\.mjs:\d+:\d+\)/);

  write(srv, speaker('three', { fields: "'hits', 'misses'" }));
  t.like(await reload(t, srv), { code: 0 });
  t.is((await get(port, '/hits')).body, '1', 'with other fields it is empty');

  write(srv, Object.fromEntries(Object.entries(speaker('four')).map(([path, text]) => [path.replace('lib/', 'other/'), text])));
  await srv.configure(conf(1, 'modules/other/speaker.mjs'));
  t.like(await reload(t, srv), { code: 0 });
  t.deepEqual(await spoken(srv), ['four,four+four,one,4,false'], 'another path with the same name');
  t.is((await srv.stop('SIGQUIT')).code, 0);
});

const FAILING = [
  ['a syntax error', { top: 'const const = 1;' }, /speaker\.mjs": SyntaxError: .*:\d+:\d+/],
  ['an exception at the top level', { top: `throw new Error('not today');` }, /speaker\.mjs": not today at .*speaker\.mjs:\d+:\d+/],
  ['an exception in compile', { compile: `scope.fail('no such thing', 'speak');` }, /no such thing/],
  ['a top level that hangs', { top: 'await new Promise(() => setInterval(() => {}, 1000));' }, /did not finish loading within 10 s/],
] as const;

test('a version that fails leaves the one before it active', async (t) => {
  const srv = await startSrv(t, conf(2), { files: speaker('one'), allowCrashes: true });
  for (const [what, how, error] of FAILING) {
    write(srv, speaker('two', how));
    const before = srv.log().length;
    // The command checks the files before the server gets to see them.
    srv.signal('SIGHUP');
    const [{ code, stderr }] = await Promise.all([
      reload(t, srv),
      waitFor(`the end of the reload: ${what}`, () => srv.log().slice(before).includes('stays as it was')),
    ]);
    t.is(code, 1, what);
    t.regex(stderr, error, what);
    t.regex(srv.log().slice(before), error, what);
    t.deepEqual(await spoken(srv, 8), ['one,one+one,one,1,true'], what);
  }
  await get(srv.port('web'), '/end');
  await srv.waitForLog(/exited with code 3[^]*start worker/);
  await waitForSpoken(srv, 'one,one+one,one,1,true');
  write(srv, speaker('three'));
  t.like(await reload(t, srv), { code: 0 });
  // The worker that is new may have begun with it.
  for (const text of await spoken(srv, 8)) t.regex(text, /^three,three\+three,one,[12],true$/, 'and a later one is active');
});

test('workers that start later run the version that is active, a server that starts runs the files', async (t) => {
  const srv = await startSrv(t, conf(2), { files: speaker('zero'), allowCrashes: true });
  for (let at = 1; at <= 10; at++) {
    write(srv, speaker(`v${at}`));
    await reconfigure(srv);
    t.deepEqual(await spoken(srv, 4), [`v${at},v${at}+v${at},zero,${at + 1},true`]);
  }
  write(srv, speaker('unloaded'));
  rmSync(srv.path('modules/inner.mjs'));
  for (const deaths of [1, 2]) {
    await waitFor('a response', () => get(srv.port('web'), '/end').catch(() => undefined));
    await srv.waitForLog(new RegExp(`(exited with code 3[^]*start worker[^]*){${deaths}}`));
  }
  await waitForSpoken(srv, 'v10,v10+v10,zero,1,true');
  write(srv, speaker('last'));
  srv.signal('SIGKILL');
  await srv.exited;
  const again = await startSrv(t, conf(2), { prefix: srv.prefix, allowCrashes: true });
  t.deepEqual(await spoken(again, 8), ['last,last+last,last,1,true']);
});

const api = (text: string): string =>
  plugin('shouter', {
    kind: 'control',
    manifest: `key: 'shouter', plane: 'control'`,
    imports: `import { route } from 'srv/module/control.js';`,
    body: `async shout() { return { status: 200, body: { text: '${text}' } }; }`,
  }).concat(`
    route('GET', '', { summary: 'Shouts', responses: { 200: { type: 'object', properties: { text: { type: 'string' } } } } })(Plugin.prototype, 'shout',
      Object.getOwnPropertyDescriptor(Plugin.prototype, 'shout'));`);

test('a module of the control plane runs its new code as well', async (t) => {
  const { srv } = await startNode(t, { controlMain: 'load_module modules/shouter.mjs;', files: { 'modules/shouter.mjs': api('one') } });
  const shout = async (): Promise<unknown> =>
    (JSON.parse((await get(srv.port('api'), '/api/v1/shouter')).body) as { readonly text: string }).text;
  await waitFor('the API', () =>
    shout().then(
      () => true,
      () => false,
    ),
  );
  t.is(await shout(), 'one');
  writeInto(srv.prefix, 'modules/shouter.mjs', api('two'));
  t.like(await reload(t, srv), { code: 0 });
  await waitFor('the new version', async () => (await shout()) === 'two');
});
