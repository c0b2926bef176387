import test from 'ava';
import { bodyOf, httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv } from '../harness/srv.js';

/** `make KIND;` responds with what a request of the server itself got. */
const MODULE = plugin('test_requests_module', {
  imports: `import { Requests } from 'srv/module/exchanges.js';`,
  manifest: `directives: { make: directive({ in: ['location'], args: text(), inherit: 'none' }) }`,
  body: `
  static services = [Requests];
  constructor(requests) { this.requests = requests; }
  compile(scope) {
    const kind = scope.conf.make;
    if (kind === undefined) return undefined;
    const kinds = {
      get: async (at) => { const { status, body } = await this.requests.send('http://b.example:' + at + '/inner?x=y'); return status + ' ' + body; },
      put: async (at) => {
        const options = { method: 'PUT', headers: { 'X-Kind': 'own', 'Content-Length': '3' }, body: Buffer.from('whole body') };
        const { status, body } = await this.requests.send('http://a.example:' + at + '/inner', options);
        return status + ' ' + body;
      },
      open: async (at) => {
        const { status, body } = await this.requests.open('http://a.example:' + at + '/inner');
        let text = String(status);
        for await (const piece of body) text += ' ' + piece;
        return text;
      },
      internal: async (at) => String((await this.requests.send('http://a.example:' + at + '/internal')).status),
      denied: async (at) => String((await this.requests.send('http://a.example:' + at + '/denied')).status),
      late: async (at) => String((await this.requests.send('http://a.example:' + at + '/late', { timeout: 200 })).status),
      nowhere: async () => String((await this.requests.send('http://a.example:1/')).status),
      nothing: async () => String((await this.requests.send('not a url')).status),
    };
    return { content: async (request) => {
      try { return request.send(200, await kinds[kind](request.connection.localPort)); }
      catch (error) { return request.send(200, 'rejected: ' + error.message); }
    } };
  }`,
});

test('a module makes requests to this server without a client: they are handled as those of clients', async (t) => {
  const backend = await httpBackend(t, (request, response) => {
    if (request.url === '/late') return;
    void bodyOf(request).then((body) => response.end(`${request.method} ${request.url} ${String(request.headers['x-kind'])} ${body}`));
  });
  const kinds = ['get', 'put', 'open', 'internal', 'denied', 'late', 'nowhere', 'nothing'];
  const srv = await startSrv(
    t,
    `load_module modules/test_requests_module.js; error_log logs/error.log info; events {}
    http {
      log_format line '$remote_addr $request $status'; access_log logs/access.log line;
      server { listen 127.0.0.1:%%PORT_web%%; server_name a.example;
        location /inner { proxy_pass http://127.0.0.1:${backend.port}; }
        location = /late { proxy_pass http://127.0.0.1:${backend.port}; }
        location = /internal { internal; return 200; }
        location = /denied { deny all; }
        ${kinds.map((kind) => `location = /make/${kind} { make ${kind}; }`).join('\n')}
      }
      server { listen 127.0.0.1:%%PORT_web%%; server_name b.example; location / { return 201 $host$uri?$args; } }
    }`,
    { files: { 'modules/test_requests_module.js': MODULE } },
  );
  const make = async (kind: string): Promise<string> =>
    (await get(srv.port('web'), `/make/${kind}`, { headers: { host: 'a.example' } })).body;
  t.is(await make('get'), '201 b.example/inner?x=y');
  t.is(await make('put'), '200 PUT /inner own whole body');
  t.is(await make('open'), '200 GET /inner undefined ');
  t.is(await make('internal'), '404');
  t.is(await make('denied'), '403');
  t.regex(await make('late'), /^rejected: timed out/);
  t.regex(await make('nowhere'), /^rejected: nothing listens on port 1/);
  t.regex(await make('nothing'), /^rejected: invalid URL/);
  await srv.waitForLog(/^127\.0\.0\.1 PUT \/inner HTTP\/1\.1 200$/m, 'logs/access.log');
});
