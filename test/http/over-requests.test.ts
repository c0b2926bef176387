/** Requests that are over while a handler is still at work on them, or their body on its way. */
import { connect as connectHttp2 } from 'node:http2';
import type { Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { rawBackend } from '../harness/backends.js';
import { connectRaw, get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { fileScope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** `/late/HOW` responds after its client has left: `go` lets it. `/filtered` counts the body filters that are alive. */
const MODULE = plugin('acme_http_over_module', {
  imports: `import { DONE, DECLINED } from 'srv/module/http.js'; import { Log } from 'srv/module/log.js';`,
  manifest: `directives: { does: directive({ in: ['location'], args: text(), inherit: 'none' }) }`,
  body: `
  static services = [Log];
  alive = 0;
  waiting = new Map();
  constructor(log) {
    this.log = log;
    const note = (text) => log.write('notice', 'noted ' + text);
    const late = {
      atend: (request) => request.atEnd(() => note('released')),
      nested: (request) => request.atEnd(() => request.atEnd(() => note('released twice'))),
      throws: (request) => request.atEnd(() => { throw new Error('late step'); }),
      respond: (request) => {
        const body = request.respond(200, 'text/plain');
        body.onClose(() => note('closed ' + body.closed));
        body.write('x');
        body.end();
      },
      pipe: (request) => {
        async function* pieces() { try { yield 'a'; yield 'b'; } finally { note('source ended'); } }
        request.respond(200).pipe(pieces());
      },
      source: (request) => request.sendFrom(200, { length: 1, read: () => 1, close: () => note('source closed') }),
      send: (request) => note('sent ' + request.send(200, 'late')),
      redirect: (request) => note('redirected ' + request.redirect('/forbidden')),
      subrequest: (request) => request.subrequest('/forbidden').catch((error) => note('refused ' + error.message)),
    };
    this.handlers = {
      late: { content: async (request) => {
        note('began ' + request.uri);
        await new Promise((go) => this.waiting.set(request.uri, go));
        late[request.uri.split('/')[2]](request);
        note('did ' + request.uri);
        return DONE;
      } },
      go: { content: (request) => { for (const [, go] of this.waiting) go(); this.waiting.clear(); return request.send(200, ''); } },
      alive: { content: (request) => request.send(200, String(this.alive)) },
      forbidden: { content: (request) => { note('forbidden'); return request.send(200, 'no'); } },
      count: { header: () => {
        this.alive++;
        return { write: (piece, out) => { out.write(piece); }, end: (out) => { this.alive--; out.end(); }, destroy: () => { this.alive--; } };
      } },
      stream: { content: (request) => { request.respond(200).write('begun'); return DONE; }, },
    };
    this.handlers.stream.header = this.handlers.count.header;
  }
  compile(scope) { return scope.own('does') ? this.handlers[scope.conf.does] : undefined; }`,
});

const scope = fileScope();
const members: Socket[] = [];
let srv: Srv;

test.before(async () => {
  // Half of a response: the rest never comes.
  const member = await rawBackend(scope, (socket) => {
    members.push(socket);
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf');
  });
  srv = await startSrv(
    scope,
    `load_module modules/acme_http_over_module.mjs; error_log logs/error.log info; worker_processes 1; events {}
    http { log_format short '$request_uri $status'; access_log logs/access.log short;
      server { listen 127.0.0.1:%%PORT_web%%; http2 on;
        location /late { does late; } location /go { does go; } location /alive { does alive; } location /forbidden { does forbidden; }
        location /member { does count; proxy_pass http://127.0.0.1:${member.port}; }
        location /stream { does stream; }
      } }`,
    { files: { 'modules/acme_http_over_module.mjs': MODULE } },
  );
});

const isAlive = async (count: number): Promise<boolean> => (await get(srv.port('web'), '/alive')).body === String(count);

/** Asks over HTTP/1, waits for the beginning of the response, and for its filter. Returns how the client leaves. */
async function beginHttp1(t: ExecutionContext, path: string): Promise<() => void> {
  const client = await connectRaw(t, srv.port('web'));
  client.send(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  await client.receive(/half|begun/);
  return () => client.socket.destroy();
}

async function beginHttp2(t: ExecutionContext, path: string): Promise<() => void> {
  const session = connectHttp2(`http://127.0.0.1:${srv.port('web')}`);
  t.teardown(() => session.destroy());
  const stream = session.request({ ':path': path });
  stream.on('error', () => undefined);
  await new Promise((resolve) => stream.once('data', resolve));
  return () => stream.close(8);
}

const GIVEN_UP: Readonly<Record<string, (t: ExecutionContext) => Promise<() => void>>> = {
  'a proxied one whose client leaves': (t) => beginHttp1(t, '/member'),
  'one of a module whose client leaves': (t) => beginHttp1(t, '/stream'),
  'one of HTTP/2 whose stream is reset': (t) => beginHttp2(t, '/member'),
  'one whose member dies': async (t) => {
    await beginHttp1(t, '/member');
    return () => members.at(-1)?.destroy();
  },
};

for (const [name, begin] of Object.entries(GIVEN_UP)) {
  test.serial(`the body filters of a response that is given up are destroyed: ${name}`, async (t) => {
    const giveUp = await begin(t);
    t.true(await isAlive(1));
    giveUp();
    t.true(await waitFor('the end of the filter', () => isAlive(0)));
  });
}

const LATE: Readonly<Record<string, RegExp>> = {
  atend: /noted released\b(?! twice)/,
  nested: /noted released twice/,
  throws: /a handler of "acme_http_over_module" failed: Error: late step/,
  respond: /noted closed true/,
  pipe: /noted did \/late\/pipe/,
  source: /noted source closed/,
  send: /noted sent -2/,
  redirect: /noted redirected -2/,
  subrequest: /noted refused the request is over/,
};

for (const [how, effect] of Object.entries(LATE)) {
  test.serial(`what a handler does when its client has left: ${how}`, async (t) => {
    const client = await connectRaw(t, srv.port('web'));
    client.send(`GET /late/${how} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await srv.waitForLog(new RegExp(`noted began /late/${how}`));
    client.socket.destroy();
    await srv.waitForLog(new RegExp(`^/late/${how} 499$`, 'm'), 'logs/access.log');
    await get(srv.port('web'), '/go');
    t.truthy(await srv.waitForLog(effect));
    t.truthy(await srv.waitForLog(new RegExp(`noted did /late/${how}`)));
    t.notRegex(srv.log(), /noted forbidden|failed(?!: Error: late step)/);
  });
}
