import test from 'ava';
import { httpBackend, rawBackend } from '../harness/backends.js';
import { connectRaw, get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** Keeps what it sees of attempts at members, and shows it. */
const TRACING = plugin('tracing', {
  manifest: `directives: { trace: directive({ in: ['server', 'location'], args: text() }) }`,
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
        if (event === 'begin') request.upstream.set('X-Attempt', \`\${attempt.number} of \${attempt.address}\`);
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

test('modules see attempts that lead to a tunnel, to its end: CONNECT and upgrades', async (t) => {
  const backend = await rawBackend(t, (socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      const isUpgrade = bytes.toString().startsWith('GET');
      socket.write(isUpgrade ? 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: upgrade\r\n\r\n' : bytes);
    });
  });
  const srv = await startSrv(
    t,
    `load_module modules/tracing.js; load_module modules/srv_http_proxy_connect_module.so; worker_processes 1; events {}
    http {
      upstream one { server 127.0.0.1:%%PORT_dead%%; server 127.0.0.1:${backend.port} backup; }
      server { listen 127.0.0.1:%%PORT_web%%;
        location /show { trace show; }
        location /up { trace yes; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; proxy_pass http://one; } }
      server { listen 127.0.0.1:%%PORT_direct%%; trace yes; proxy_connect; proxy_connect_allow all; proxy_connect_destination allow all; }
      server { listen 127.0.0.1:%%PORT_member%%; trace yes; tunnel_pass one; }
    }`,
    { files: { 'modules/tracing.js': TRACING } },
  );
  const alive = `127.0.0.1:${backend.port}`;
  const dead = `127.0.0.1:${srv.port('dead')}`;
  const seen: Seen[] = [];
  const eventually = async (count: number): Promise<Seen[]> => {
    await waitFor(`${count} events`, async () => {
      seen.push(...(JSON.parse((await get(srv.port('web'), '/show')).body) as Seen[]));
      return seen.length >= count;
    });
    return seen.splice(0);
  };
  const tunnel = async (port: string, to: string): Promise<void> => {
    const client = await connectRaw(t, srv.port(port));
    client.send(`CONNECT ${to} HTTP/1.1\r\nHost: ${to}\r\n\r\n`);
    await client.receive(/^HTTP[^]*\r\n\r\n/);
    client.send('ping');
    await client.receive(/ping$/);
    client.socket.end();
  };

  await tunnel('direct', alive);
  const begun = { number: 1, upstream: alive, address: alive };
  t.like(await eventually(4), [
    { event: 'begin', ...begun, status: 0, times: '---' },
    { event: 'connected', ...begun, isReused: false, times: '+--' },
    { event: 'head', status: 200, received: true, times: '++-' },
    { event: 'end', status: 200, failure: '', sent: true, received: true, times: '+++' },
  ]);
  const refused = await connectRaw(t, srv.port('direct'));
  refused.send(`CONNECT ${dead} HTTP/1.1\r\nHost: ${dead}\r\n\r\n`);
  await refused.receive(/502/);
  const failed = await eventually(2);
  t.like(failed, [{ event: 'begin' }, { event: 'end', status: 502, times: '--+' }]);
  t.regex(String(failed[1]?.['failure']), /Connection refused/);

  await tunnel('member', 'elsewhere.example:1');
  t.like(await eventually(6), [
    { event: 'begin', number: 1, upstream: 'one', address: dead },
    { event: 'end', number: 1, status: 502 },
    { event: 'begin', number: 2, upstream: 'one', address: alive },
    { event: 'connected', number: 2, times: '+--' },
    { event: 'head', number: 2, status: 200, received: true, times: '++-' },
    { event: 'end', number: 2, status: 200, received: true, times: '+++' },
  ]);

  const upgraded = await connectRaw(t, srv.port('web'));
  upgraded.send('GET /up HTTP/1.1\r\nHost: a\r\nUpgrade: echo\r\nConnection: upgrade\r\n\r\n');
  await upgraded.receive(/^HTTP\/1.1 101[^]*\r\n\r\n/);
  upgraded.send('ping');
  await upgraded.receive(/ping$/);
  upgraded.socket.end();
  const events = await eventually(4);
  t.like(events.slice(-3), [
    { event: 'connected' },
    { event: 'head', status: 101 },
    { event: 'end', status: 101, failure: '', times: '+++' },
  ]);
});

test('each attempt may have fields of its own', async (t) => {
  const busy = await httpBackend(t, (_, response) => response.writeHead(503).end());
  const free = await httpBackend(t, (_, response) => response.end('fine'));
  const srv = await startSrv(
    t,
    `load_module modules/tracing.js; worker_processes 1; events {}
    http {
      upstream pair { server 127.0.0.1:${busy.port}; server 127.0.0.1:${free.port} backup; }
      server { listen 127.0.0.1:%%PORT_web%%; location / { trace yes; proxy_pass http://pair; proxy_next_upstream http_503; } }
    }`,
    { files: { 'modules/tracing.js': TRACING } },
  );
  t.is((await get(srv.port('web'), '/')).body, 'fine');
  t.is(busy.requests[0]?.headers['x-attempt'], `1 of 127.0.0.1:${busy.port}`);
  t.is(free.requests[0]?.headers['x-attempt'], `2 of 127.0.0.1:${free.port}`);
});
