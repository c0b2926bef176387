/** Modules that respond in the place of a member: before one is asked, and when none has responded. */
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { shared } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';

const MODULE = plugin('test_keeper_module', {
  manifest: "directives: { keeper: directive({ in: ['location'], args: text(), inherit: 'none' }) }",
  body: `
  #calls = new WeakMap();
  compile({ conf: { keeper } }) {
    if (keeper === undefined) return undefined;
    const head = 'HTTP/1.1 203 Kept\\r\\nContent-Type: text/kept\\r\\nX-Hidden: a\\r\\nLocation: http://member/x\\r\\nX-Kind: kept\\r\\n\\r\\n';
    const text = Buffer.from('what was kept');
    const body = () => ({ length: text.length, read: (into, at) => text.copy(into, 0, at), close() {} });
    return {
      memberRequest: async (request, call) => {
        this.#calls.set(request, call);
        await undefined;
        if (keeper === 'before') return call.respond(head, body());
        if (keeper === 'method') call.method = 'REPORT';
        if (keeper === 'bad') return call.respond('nothing', body());
        if (keeper === 'status') return 418;
      },
      memberFailure: (request, failure, status) => {
        request.response.set('X-Failure', failure + ' ' + status);
        if (keeper === 'after') return this.#calls.get(request).respond(head, body());
      },
      memberResponse: (request, response) => {
        if (keeper !== 'instead') return;
        response.discard();
        return this.#calls.get(request).respond(head, body());
      },
    };
  }
`,
});

const location = (kind: string, to: string): string =>
  `location /${kind} { keeper ${kind}; proxy_hide_header X-Hidden; proxy_redirect http://member/ /here/; proxy_pass ${to}; add_header X-Variable $upstream_http_x_kind always; }`;

const start = shared(async (scope) => {
  const backend = await httpBackend(scope, (incoming, response) => response.end(`${incoming.method} member`));
  return startSrv(
    scope,
    `load_module modules/test_keeper_module.so; worker_processes 1; events {}
    http { server { listen 127.0.0.1:%%PORT_web%%;
      ${['before', 'method', 'bad', 'status', 'instead', 'none'].map((kind) => location(kind, `http://127.0.0.1:${backend.port}`)).join('\n')}
      ${location('after', 'http://127.0.0.1:%%PORT_closed%%')}
      ${location('failed', 'http://127.0.0.1:%%PORT_closed%%')}
    } }`,
    { files: { 'modules/test_keeper_module.js': MODULE } },
  );
});

for (const kind of ['before', 'instead', 'after']) {
  test(`${kind}: a response in the place of a member's has its fields hidden and rewritten, and is what variables show`, async (t) => {
    const srv = await start();
    const { status, headers, body } = await get(srv.port('web'), `/${kind}`);
    t.is(status, 203);
    t.is(body, 'what was kept');
    t.is(headers['content-length'], '13');
    t.is(headers['content-type'], 'text/kept');
    t.is(headers['x-hidden'], undefined);
    t.true(headers.location?.endsWith('/here/x'));
    t.is(headers['x-variable'], 'kept');
  });
}

test('HEAD has no body', async (t) => {
  const srv = await start();
  const { status, body } = await get(srv.port('web'), '/before', { method: 'HEAD' });
  t.deepEqual([status, body], [203, '']);
});

test('the method that members get may be another one; a status is the response; a bad head is a 500 with the name of the module', async (t) => {
  const srv = await start();
  t.is((await get(srv.port('web'), '/method')).body, 'REPORT member');
  t.is((await get(srv.port('web'), '/none')).body, 'GET member');
  t.is((await get(srv.port('web'), '/status')).status, 418);
  t.is((await get(srv.port('web'), '/bad')).status, 500);
  await srv.waitForLog(/a handler of "test_keeper_module" failed: TypeError: the head that a module responds with is none/);
});

test('a failure that no module responds to is that of the member', async (t) => {
  const srv = await start();
  const { status, headers } = await get(srv.port('web'), '/failed');
  t.is(status, 502);
  t.is(headers['x-failure'], 'error 502');
});
