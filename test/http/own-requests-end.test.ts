import test, { type ExecutionContext } from 'ava';
import { httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** `warm;` sends a request without a client, and responds without waiting for it. */
const WARM = plugin('warm', {
  imports: `import { flag } from 'srv/module/args.js'; import { Requests } from 'srv/module/exchanges.js';`,
  manifest: `directives: { warm: directive({ in: ['location'], args: flag() }) }`,
  body: `
  static services = [Requests];
  constructor(requests) { this.requests = requests; }
  compile(scope) {
    if (!scope.conf.warm) return undefined;
    return { content: (request) => {
      this.requests.send('http://a.example:' + request.connection.localPort + '/warmed').catch(() => undefined);
      return request.send(200, 'fine');
    } };
  }`,
});

function start(t: ExecutionContext, port: number, more = ''): Promise<Srv> {
  return startSrv(
    t,
    `worker_processes 1; ${more} load_module modules/warm.js; error_log logs/error.log notice; events {}
    http {
      log_format line '$uri $status'; access_log logs/access.log line; log_subrequest on;
      server { listen 127.0.0.1:%%PORT_web%%;
        location / { mirror /mirrored; }
        location /mirrored { internal; proxy_pass http://127.0.0.1:${port}; }
        location /warm { warm on; }
        location /warmed { proxy_pass http://127.0.0.1:${port}; }
      }
    }`,
    { files: { 'modules/warm.js': WARM } },
  );
}

test('a graceful end waits for mirrored requests, and for those without a client', async (t) => {
  const respond: (() => void)[] = [];
  const backend = await httpBackend(t, (_, response) => void respond.push(() => response.end('hello')));
  const srv = await start(t, backend.port);
  for (const path of ['/page', '/warm']) await get(srv.port('web'), path);
  await waitFor('both requests', () => respond.length === 2);
  srv.signal('SIGQUIT');
  await srv.waitForLog(/gracefully shutting down/);
  // Time in which a server that does not wait ends.
  setTimeout(() => respond.forEach((step) => step()), 300);
  t.is((await srv.exited).code, 0);
  for (const line of ['/mirrored 200', '/warmed 200']) t.true(srv.read('logs/access.log').includes(line), line);
});

test('worker_shutdown_timeout limits them, at a reload and at the end', async (t) => {
  let asked = 0;
  const backend = await httpBackend(t, () => void asked++);
  const srv = await start(t, backend.port, 'worker_shutdown_timeout 500ms;');
  const ask = async (): Promise<void> => {
    const before = asked;
    for (const path of ['/page', '/warm']) await get(srv.port('web'), path);
    await waitFor('both requests', () => asked === before + 2);
  };
  const ended = (count: number): boolean =>
    ['/mirrored ', '/warmed '].every((uri) => srv.read('logs/access.log').split(uri).length - 1 === count);
  await ask();
  srv.signal('SIGHUP');
  await waitFor('the end of the requests of before the reload', () => ended(1));
  await ask();
  srv.signal('SIGQUIT');
  t.is((await srv.exited).code, 0);
  t.true(ended(2));
});
