import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** Keeps what it sees of attempts at members, and shows it. */
const TRACING = plugin('tracing', {
  manifest: `directives: { trace: directive({ in: ['location'], args: text() }) }`,
  body: `
  constructor() {
    this.events = [];
  }
  compile(scope) {
    const { trace } = scope.conf;
    if (trace === undefined) return undefined;
    if (trace === 'show') return { content: (request) => request.send(200, JSON.stringify(this.events.splice(0))) };
    return {
      memberAttempt: (request, attempt, event) => {
        if (trace === 'throw') throw new Error('traced to throw');
        const { number, upstream, address, isReused, status, failure, sent, received, connectTime, headerTime, responseTime } = attempt;
        const times = [connectTime, headerTime, responseTime].map((time) => (time < 0 ? '-' : '+')).join('');
        this.events.push({ uri: request.uri, event, number, upstream, address, isReused, status, failure, sent: sent > 0, received: received > 0, times });
      },
    };
  }`,
});

type Seen = Readonly<Record<string, unknown>>;

test('modules see the attempts of a request: members, kept connections, failures and times', async (t) => {
  const backend = await httpBackend(t, (request, response) => {
    response.statusCode = request.url === '/fails' ? 503 : 200;
    response.end('fine');
  });
  const srv = await startSrv(
    t,
    `load_module modules/tracing.js; worker_processes 1; events {}
    http {
      upstream pair { server 127.0.0.1:%%PORT_dead%%; server 127.0.0.1:${backend.port} backup; }
      upstream one { server 127.0.0.1:${backend.port}; }
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location /show { trace show; }
        location /pair { trace yes; proxy_pass http://pair; }
        location /one { trace yes; proxy_pass http://one; }
        location /fails { trace yes; proxy_pass http://one/fails; proxy_next_upstream http_503; }
        location /throw { trace throw; proxy_pass http://one; }
      }
    }`,
    { files: { 'modules/tracing.js': TRACING } },
  );
  const port = srv.port('web');
  const seen = async (path: string, count: number): Promise<Seen[]> => {
    await get(port, path);
    const events: Seen[] = [];
    await waitFor(`${count} events of ${path}`, async () => {
      events.push(...(JSON.parse((await get(port, '/show')).body) as Seen[]));
      return events.length >= count;
    });
    return events;
  };
  const dead = `127.0.0.1:${srv.port('dead')}`;
  const alive = `127.0.0.1:${backend.port}`;
  const first = await seen('/pair', 6);
  t.like(first, [
    { uri: '/pair', event: 'begin', number: 1, upstream: 'pair', address: dead, status: 0, times: '---' },
    { event: 'end', number: 1, address: dead, status: 502, times: '--+', sent: false },
    { event: 'begin', number: 2, address: alive },
    { event: 'connected', number: 2, address: alive, isReused: false, times: '+--' },
    { event: 'head', number: 2, status: 200, times: '++-' },
    { event: 'end', number: 2, status: 200, failure: '', times: '+++', sent: true, received: true },
  ]);
  t.regex(String(first[1]?.['failure']), /^connect\(\) failed \(111: Connection refused\)/);
  await seen('/one', 4);
  t.like(await seen('/one', 4), [
    { event: 'begin', isReused: false },
    { event: 'connected', isReused: true },
    { event: 'head' },
    { event: 'end', number: 1 },
  ]);
  t.like((await seen('/fails', 4)).at(-1), { event: 'end', status: 503, failure: '', times: '+++' });
  t.is((await get(port, '/throw')).body, 'fine');
  await srv.waitForLog(/a handler of "tracing" failed: Error: traced to throw/);
});
