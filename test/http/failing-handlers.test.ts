import test, { type ExecutionContext } from 'ava';
import { httpBackend } from '../harness/backends.js';
import { exchange, get } from '../harness/client.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** A module that throws where its directive says; written as an operator's own would be. */
const MODULE = `
import { httpModule } from 'srv/module/manifest.js';
import { text } from 'srv/module/args.js';

const fail = (request) => { throw new Error('test failure at ' + request.requestUri); };
const failLater = async (request) => { await null; fail(request); };

const HANDLERS = {
  post_read: { post_read: fail }, server_rewrite: { server_rewrite: fail },
  rewrite: { rewrite: fail }, preaccess: { preaccess: fail }, access: { access: fail }, precontent: { precontent: fail },
  content: { content: fail }, later: { content: failLater }, access_later: { access: failLater },
  header: { header: fail }, body: { header: (request) => ({ write: () => fail(request), end: () => fail(request) }) },
  last: { header: (request) => ({ write: (piece, out) => out.write(piece), end: () => fail(request) }) },
  no_filter: { header: () => 'text' }, no_bytes: { header: () => ({ write: (piece, out) => out.write('text'), end: (out) => out.end() }) }, log: { log: fail },
  sends: { content: (request) => { request.send(200, 'sent'); return fail(request); } },
  text: { content: () => { throw 'a text'; } },
  nothing: { content: () => undefined }, nothing_later: { access: async () => undefined }, no_number: { access: () => NaN },
  no_status: { content: (request) => request.send('200', 'sent') },
};

class Fails {
  variables = { failing: fail };
  compile(scope) { return scope.kind !== 'server' && scope.own('fails') ? HANDLERS[scope.conf.fails] : undefined; }
  compileServer(scope) { return scope.own('fails') ? HANDLERS[scope.conf.fails] : undefined; }
}
httpModule({
  name: 'test_fails_module',
  api: 1,
  directives: { fails: { in: ['server', 'location'], args: text(), inherit: 'none' } },
})(Fails);
export { Fails };
`;

async function start(t: ExecutionContext, port: number): Promise<Srv> {
  const places = [
    'rewrite',
    'preaccess',
    'access',
    'precontent',
    'content',
    'later',
    'access_later',
    'sends',
    'text',
    'nothing',
    'nothing_later',
    'no_number',
    'no_status',
  ];
  const servers = ['post_read', 'server_rewrite'];
  return startSrv(
    t,
    `load_module modules/test_fails_module.so;
    error_log logs/error.log info;
    events {}
    http {
      log_format failing "$failing";
      upstream group { zone group 64k; server 127.0.0.1:${port} max_conns=1; }
      ${servers.map((name) => `server { listen 127.0.0.1:%%PORT_web%%; server_name ${name}; fails ${name}; location / { return 200 never; } }`).join('\n')}
      server {
        listen 127.0.0.1:%%PORT_web%% default_server;
        ${places.map((name) => `location /${name} { fails ${name}; }`).join('\n')}
        location /header { fails header; proxy_pass http://group; }
        location /header-return { fails header; return 200 never; }
        location /body { fails body; proxy_pass http://group; }
        location /body-return { fails body; return 200 never; }
        location /no_filter { fails no_filter; proxy_pass http://group; }
        location /no_bytes { fails no_bytes; proxy_pass http://group; }
        location /last { fails last; proxy_pass http://group; }
        location /log { fails log; return 200 answered; }
        location /access-log { access_log logs/failing.log failing; return 200 answered; }
        location /variable { return 200 $failing; }
        location /field { add_header X-A $failing; proxy_pass http://group; }
        location /sent-field { proxy_pass http://group; proxy_set_header X-A $failing; }
        location /target { proxy_pass http://$failing; }
        location /redirect { proxy_pass http://group; proxy_redirect /a $failing; }
        location /page { error_page 500 = /good; fails content; }
        location /page-fails { error_page 500 /x$failing; fails content; }
        location /pages-fail { error_page 404 500 /x$failing; recursive_error_pages on; return 404; }
        location /good { proxy_pass http://group; }
      }
    }`,
    { files: { 'modules/test_fails_module.js': MODULE } },
  );
}

test('whatever of a module throws costs one request a 500, and is logged with the module’s name', async (t) => {
  const backend = await httpBackend(t, (_, response) => response.end('good'));
  const srv = await start(t, backend.port);
  const port = srv.port('web');
  const failures = (path: string): number =>
    [...srv.log().matchAll(/\[crit\].*(?:a handler(?: of "[^"]+")?|variable ".+") failed: .*request: "GET ([^ ]+) /g)].filter(
      ([, target]) => target === path,
    ).length;
  const cases: Readonly<Record<string, string>> = {
    '/rewrite': '500',
    '/preaccess': '500',
    '/access': '500',
    '/precontent': '500',
    '/content': '500',
    '/later': '500',
    '/access_later': '500',
    '/text': '500',
    '/nothing': '500',
    '/nothing_later': '500',
    '/no_number': '500',
    '/no_status': '500',
    '/header': '500',
    '/header-return': '500',
    '/body': '500',
    '/body-return': '500',
    '/no_filter': '500',
    '/no_bytes': '500',
    '/variable': '500',
    '/field': '500',
    '/sent-field': '500',
    '/target': '500',
    '/page': '200 good',
    '/page-fails': '500',
    '/pages-fail': '500',
    '/sends': '200 sent',
    '/log': '200 answered',
    '/access-log': '200 answered',
  };
  for (const [path, expected] of Object.entries(cases)) {
    const { status, body } = await get(port, path);
    t.is(status === 200 ? `200 ${body}` : String(status), expected, path);
    const count = path === '/page-fails' ? 2 : 1;
    await waitFor(`the failure of ${path} in the log`, () => failures(path) >= count);
    t.is((await get(port, '/good')).body, 'good', `the place at the member is free after ${path}`);
    t.is(failures(path), count, path);
  }
  for (const host of ['post_read', 'server_rewrite']) t.is((await get(port, '/', { headers: { host } })).status, 500, host);
  t.regex(srv.log(), /a handler of "test_fails_module" failed: Error: test failure at \/content\\x0A +at fail .*test_fails_module\.js/);
  t.regex(srv.log(), /the handler returned undefined: it must return DECLINED, DONE, OK, a status, or a promise of one of them/);
  t.regex(srv.log(), /the status of a response must be a number from 200 to 999, not '200'/);
  t.regex(srv.log(), /variable "\w+" of module "test_fails_module" failed: .*\/field/, 'not the one that asked for the variable');
  t.regex(srv.log(), /a handler of "test_fails_module" failed: a text/);
});

test('a response that fails half way is cut off', async (t) => {
  const backend = await httpBackend(t, (_, response) => response.end('good'));
  const srv = await start(t, backend.port);
  const received = await exchange(t, srv.port('web'), 'GET /last HTTP/1.1\r\nHost: a\r\n\r\n');
  t.regex(received, /^HTTP\/1\.1 200 [^]*good/);
  t.notRegex(received, /\r\n0\r\n\r\n$/);
  t.is((await get(srv.port('web'), '/good')).body, 'good');
});

test('a Location that cannot be rewritten', async (t) => {
  const backend = await httpBackend(t, (request, response) => {
    if (request.url === '/redirect') response.writeHead(302, { location: '/a' });
    response.end('good');
  });
  const srv = await start(t, backend.port);
  t.is((await get(srv.port('web'), '/redirect')).status, 500);
  t.is((await get(srv.port('web'), '/good')).body, 'good');
});
