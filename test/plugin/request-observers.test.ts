import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** Looks at requests with a field of the name `x-watch`, and shows what it has seen. */
const WATCHING = plugin('watching', {
  manifest: `directives: { show_seen: directive({ in: ['location'], args: {} }) }`,
  body: `
  constructor() {
    this.seen = [];
  }
  compileServer() {
    const note = (request, what) => {
      if (request.header('x-watch') === 'throw') throw new Error('watched to throw');
      this.seen.push(request.uri + ' ' + what);
    };
    const observer = {
      content: (request) => note(request, 'content'),
      memberAttempt: (request, attempt, event) => note(request, 'attempt ' + attempt.number + ' ' + event),
      head: (request) => note(request, 'head ' + request.status),
    };
    return {
      post_read: (request) => {
        if (request.header('x-watch') !== undefined) request.observe(observer);
        return -1;
      },
    };
  }
  compile(scope) {
    return scope.conf.show_seen === undefined ? undefined : { content: (request) => request.send(200, JSON.stringify(this.seen.splice(0))) };
  }`,
});

test('a module looks at the requests that it has chosen, in whichever locations they come', async (t) => {
  const backend = await httpBackend(t, (_, response) => response.end('fine'));
  const srv = await startSrv(
    t,
    `load_module modules/watching.js; worker_processes 1; events {}
    http {
      upstream pair { server 127.0.0.1:%%PORT_dead%% max_fails=0; server 127.0.0.1:${backend.port} backup; }
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location /show { show_seen; }
        location /pair { proxy_pass http://pair; }
        location /own { return 204; }
        location /twice { error_page 404 = /pair; return 404; }
      }
    }`,
    { files: { 'modules/watching.js': WATCHING } },
  );
  const port = srv.port('web');
  const seen = async (path: string, watch?: string): Promise<readonly string[]> => {
    await get(port, path, watch === undefined ? {} : { headers: { 'x-watch': watch } });
    return JSON.parse((await get(port, '/show')).body) as string[];
  };
  const attempts = [
    'attempt 1 begin',
    'attempt 1 end',
    'attempt 2 begin',
    'attempt 2 connected',
    'attempt 2 head',
    'head 200',
    'attempt 2 end',
  ];
  t.deepEqual(await seen('/pair'), []);
  t.deepEqual([...(await seen('/pair', 'yes'))].sort(), ['content', ...attempts].map((what) => `/pair ${what}`).sort());
  t.deepEqual(await seen('/own', 'yes'), ['/own head 204']);
  t.like(await seen('/twice', 'yes'), ['/pair content']);
  t.is((await get(port, '/pair', { headers: { 'x-watch': 'throw' } })).body, 'fine');
  await waitFor('the failure in the log', () => /a handler of "watching" failed: Error: watched to throw/.test(srv.log()) || undefined);
  t.deepEqual(await seen('/show'), []);
});
