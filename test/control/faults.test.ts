import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { connectRaw, json, type JsonResponse } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { shared as started } from '../harness/scope.js';
import { runSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { LOOP } from '../kernel/hostile-module.js';
import { errorOf } from './api-client.js';
import { startNode, upstreams, type Node } from './node.js';

/** For tests that leave it as it was. The last one stops it for a while. */
const shared = started(async (scope): Promise<Node> => {
  const backend = await httpBackend(scope, (_, response) => response.end('hello'));
  const server = `server 127.0.0.1:${backend.port}; keepalive 4;`;
  return startNode(scope, {
    http: `upstream demo { zone demo 256k; ${server} } ${upstreams('printed', 'late')}`,
    controlMain: 'api_timeout 2s;',
    control: 'server { listen 127.0.0.1:%%PORT_hasty%%; location /api { dyn_module_api; handler_timeout 200ms; } }',
  });
});

/** Three clients, whose requests follow each other until `end`, and those that failed. */
async function traffic(node: Node, until: Promise<unknown>): Promise<{ requests: number; failures: unknown[] }> {
  const state = { running: true };
  void until.finally(() => (state.running = false)).catch(() => undefined);
  const failures: unknown[] = [];
  let requests = 0;
  const client = async (): Promise<void> => {
    while (state.running) {
      requests++;
      try {
        const { status } = await node.web();
        if (status !== 200) failures.push(status);
      } catch (error) {
        failures.push(error);
      }
      await sleep(5);
    }
  };
  await Promise.all([client(), client(), client()]);
  return { requests, failures };
}

for (const [kind, first, second] of [
  ['broker', '127.0.0.1:6', '127.0.0.1:7'],
  ['ctrl', '127.0.0.1:8', '127.0.0.1:9'],
] as const) {
  test.serial(`the ${kind} killed while traffic runs: no request fails, and the API comes back`, async (t) => {
    const node = await shared();
    const { length } = await node.members();
    await node.upstreams('POST', '/demo/servers/', { server: first, down: true });
    const back = (async () => {
      for (let round = 0; round < 2; round++) {
        const pid = node.helper(kind);
        process.kill(pid, 'SIGKILL');
        await waitFor('another helper', () => node.helper(kind) !== pid);
        await node.ready();
      }
    })();
    const { requests, failures } = await traffic(node, back);
    await back;
    t.true(requests > 10);
    t.deepEqual(failures, []);
    t.is((await node.members()).length, length + 1);
    t.is((await node.upstreams('POST', '/demo/servers/', { server: second, down: true })).status, 201);
  });
}

test('kill -9 in the middle of 260 changes loses no acknowledged change and applies none by half', async (t) => {
  const config = { http: 'upstream demo { zone demo 1m; server 127.0.0.1:1; }', allowCrashes: true };
  let node = await startNode(t, config);
  const { prefix } = node.srv;
  const answered = new Map<number, string>();
  let sent = 0;
  for (const stopAt of [120, 260]) {
    const loops = Array.from({ length: 4 }, async () => {
      while (sent < 260) {
        const n = sent++;
        // Two fields that belong together: a half-applied change would have one of them.
        const body = { server: `10.1.${n >> 8}.${n & 255}:80`, weight: (n % 100) + 1, max_conns: (n % 100) + 1 };
        try {
          const answer = await node.upstreams('POST', '/demo/servers/', body);
          if (answer.status === 201) answered.set((answer.json as { id: number }).id, body.server);
        } catch {
          // The process is being killed: this one was not answered.
          return;
        }
      }
    });
    await Promise.race([Promise.all(loops), waitFor('enough changes', () => answered.size >= stopAt, 60_000)]);
    node.srv.signal('SIGKILL');
    await Promise.all([...loops, node.srv.exited]);
    await waitFor('the helpers to end', () => !node.srv.hasProcesses());
    node = await startNode(t, { ...config, prefix });
    const members = await node.members();
    const byId = new Map(members.map(({ id, server }) => [id, server]));
    t.is(byId.size, members.length);
    for (const [id, server] of answered) t.is(byId.get(id), server);
    for (const { id, weight, max_conns: maxConns } of members) if (id > 0) t.is(weight, maxConns);
  }
  t.true(answered.size > 160);
});

test.serial('a second server on the same data folder is rejected in words', async (t) => {
  const node = await shared();
  const second = await runSrv(t, ['-c', 'conf/srv.conf', '-g', 'daemon off;'], undefined, { prefix: node.srv.prefix });
  t.not(second.code, 0);
  t.regex(second.stderr + node.srv.log(), /in use by another srv|Address already in use/);
  t.is((await node.upstreams('GET', '/')).status, 200);
});

test.serial('the effective configuration is printed with its difference to the file, also while the server runs', async (t) => {
  const node = await shared();
  await node.upstreams('POST', '/printed/servers/', { server: '10.0.0.1', weight: 5 });
  await node.upstreams('DELETE', '/printed/servers/0');
  const { stdout, code } = await runSrv(t, ['-T', '-c', 'conf/srv.conf'], undefined, { prefix: node.srv.prefix });
  t.is(code, 0);
  t.regex(stdout, /server 10\.0\.0\.1:80 weight=5;/);
  t.regex(stdout, /# http \/ upstream printed\n# \+ server 10\.0\.0\.1:80 weight=5;\n# - server 127\.0\.0\.1:1;/);
});

test('a worker that hangs makes a change fail, is replaced, and the next change is taken', async (t) => {
  const hang = plugin('hang', {
    imports: `import { writeFileSync } from 'node:fs'; import { ServerInfo } from 'srv/module/server-info.js';`,
    manifest: `directives: { hang: directive({ in: ['location'] }) }`,
    body: `
      static services = [ServerInfo];
      constructor(info) { this.info = info; }
      compile(scope) {
        return scope.own('hang') ? { content: () => { writeFileSync(this.info.path('hangs'), ''); ${LOOP} } } : undefined;
      }`,
  });
  const node = await startNode(t, {
    main: 'load_module modules/hang.js;',
    server: 'location / { return 200 fine; } location /hang { hang; }',
    files: { 'modules/hang.js': hang },
    allowCrashes: true,
  });
  const hanging = await connectRaw(t, node.srv.port('web'));
  hanging.send('GET /hang HTTP/1.1\r\nHost: a\r\n\r\n');
  await waitFor('the loop', () => existsSync(node.srv.path('hangs')));
  t.is((await node.upstreams('POST', '/demo/servers/', { server: '10.0.0.1' })).status, 503);
  await waitFor('another worker', () => /worker \d is replaced: it hangs[^]*start worker \d/.test(node.srv.log()), 30_000);
  const taken = await waitFor('a change', async () => {
    const answer = await node.upstreams('POST', '/demo/servers/', { server: '10.0.0.2' });
    return answer.status === 201 && answer;
  });
  t.like(taken.json, { server: '10.0.0.2:80' });
  t.deepEqual((await node.list()).slice(2), ['2 10.0.0.2:80']);
});

/** The API waits half a second longer than the data plane waits for its workers: on a busy machine that may be too short, and it says so. */
function answered(call: () => Promise<JsonResponse>): Promise<JsonResponse> {
  return waitFor('what the data plane says', async () => {
    const said = await call();
    return !/did not respond in time/.test(said.body) && said;
  });
}

test('a worker that is busy for a moment is left alone, whatever changes meanwhile', async (t) => {
  const busy = plugin('busy', {
    imports: `import { existsSync, writeFileSync } from 'node:fs'; import { ServerInfo } from 'srv/module/server-info.js';`,
    manifest: `directives: { busy: directive({ in: ['location'] }) }`,
    body: `
      static services = [ServerInfo];
      constructor(info) { this.info = info; }
      compile(scope) { return scope.own('busy') ? { content: (request) => this.work(request) } : undefined; }
      work(request) {
        writeFileSync(this.info.path('works'), '');
        const nothing = new Int32Array(new SharedArrayBuffer(4));
        while (!existsSync(this.info.path('enough'))) Atomics.wait(nothing, 0, 0, 20);
        return request.send(200, 'done');
      }`,
  });
  const node = await startNode(t, {
    workers: 1,
    main: 'load_module modules/busy.js;',
    server: 'location / { return 200 "[$kv_http_color]"; } location /busy { busy; }',
    files: { 'modules/busy.js': busy },
  });
  const answer = node.web('/busy');
  await waitFor('the work', () => existsSync(node.srv.path('works')));
  const [pair, member] = await Promise.all([
    answered(() => node.call('POST', '/kv', { key: 'color', value: 'red' })),
    answered(() => node.upstreams('POST', '/demo/servers/', { server: '10.0.0.1' })),
  ]);
  t.is(pair.status, 503);
  t.regex(errorOf(pair).text, /has made the change, but a worker is busy/);
  t.is(member.status, 503);
  t.regex(errorOf(member).text, /nothing was changed/);
  writeFileSync(node.srv.path('enough'), '');
  t.is((await answer).body, 'done');
  t.is((await node.web()).body, '[red]');
  t.is((await node.members()).length, 2);
  t.is((await node.upstreams('POST', '/demo/servers/', { server: '10.0.0.1' })).status, 201);
  t.notRegex(node.srv.log(), /exited with code/);
});

test.serial('a data plane that hangs is a 503 in time, and a 504 where handler_timeout ends the call before', async (t) => {
  const node = await shared();
  node.srv.signal('SIGSTOP');
  try {
    const answer = await node.upstreams('POST', '/late/servers/', { server: '10.0.0.1' });
    t.is(answer.status, 503);
    const early = await json(node.srv.port('hasty'), 'GET', '/api/v1/upstream_api/http/upstreams/');
    t.is(early.status, 504);
    t.like(errorOf(early), { status: 504, code: 'DataPlaneUnavailable' });
    t.is(early.headers['retry-after'], '1');
  } finally {
    node.srv.signal('SIGCONT');
  }
  // It came too late: the data plane sees that nobody waits any more.
  await sleep(200);
  await node.ready();
  t.is((await node.members('late')).length, 2);
});
