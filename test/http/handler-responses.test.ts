/** What handlers and filters may do to a response, and what stays the engine's. */
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { exchange, get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { shared as sharedScope, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';

const MODULE = plugin('acme', {
  manifest: `directives: { does: directive({ in: ['location'], args: text(), many: true }) },
    variables: { acme_broken: () => { throw new Error('no value'); } }`,
  imports: `import { DECLINED } from 'srv/module/http.js';`,
  body: `
    compile(scope) {
      const names = scope.conf.does ?? [];
      return names.length === 0 ? undefined : Object.assign({}, ...names.map((name) => HANDLERS[name]));
    }`,
}).concat(`
const FRAMING = { 'Content-Length': '3', 'Transfer-Encoding': 'gzip', Connection: 'upgrade', 'Keep-Alive': 'x', Date: 'never' };
const filter = (length) => ({ length, write: (piece, out) => out.write(piece), end: (out) => out.end() });
const HANDLERS = {
  set_framing: { header: ({ response }) => { for (const [name, value] of Object.entries(FRAMING)) response.set(name, value); } },
  append_framing: { header: ({ response }) => { for (const [name, value] of Object.entries(FRAMING)) response.append(name, value); } },
  remove_framing: { header: ({ response }) => { for (const name of Object.keys(FRAMING)) if (name !== 'Content-Length') response.remove(name); } },
  no_content: { header: (request) => { request.status = 204; } },
  not_modified: { header: (request) => { request.status = 304; } },
  interim: { header: (request) => { request.status = 100; } },
  no_status: { header: (request) => { request.status = 'fine'; } },
  longer: { header: () => filter(3) },
  shorter: { header: () => filter(30) },
  no_length: { header: () => filter('4') },
  async_header: { header: async () => { throw new Error('async header'); } },
  async_body: { header: () => ({ ...filter(), write: async () => { throw new Error('async body'); } }) },
  async_end: { header: () => ({ ...filter(), end: async () => { throw new Error('async end'); } }) },
  late_text: { header: () => ({ ...filter(), end: (out) => setTimeout(() => { out.write('text'); out.end(); }, 1) }) },
  async_log: { log: async () => { throw new Error('async log'); } },
  fields: { access: ({ response }) => { response.set('X-Before', 'kept'); response.set('Content-Type', 'text/mine'); response.append('Set-Cookie', 'a=1'); return DECLINED; } },
  upstream: { access: ({ upstream }) => {
    upstream.set('X-New', 'new'); upstream.set('X-Client', 'changed'); upstream.remove('X-Gone'); upstream.set('Host', 'other');
    upstream.set('Content-Length', '7'); upstream.set('Connection', 'x'); upstream.set('X-Conf', 'module');
    return DECLINED;
  } },
  reject: { access: (request) => { request.response.set('WWW-Authenticate', 'Basic'); return request.reject(401, 'log in first'); } },
  allow: { access: () => 0 },
  reject_type: { access: (request) => request.reject(403, '{}', 'application/json') },
  result_99: { access: () => 99 },
  send_0: { content: (request) => request.send(0, '') },
  send_100: { content: (request) => request.send(100, '') },
  set_nothing: { access: ({ response }) => { response.set('X-A', undefined); return DECLINED; } },
  redirect_relative: { content: (request) => request.redirect('nope') },
  redirect_nothing: { content: (request) => request.redirect(undefined) },
  delay_nothing: { access: (request) => request.delay(NaN) },
  delay_long: { access: (request) => request.delay(2 ** 40) },
  send_number: { content: (request) => request.send(200, 5) },
  send_object: { content: (request) => request.send(200, { a: 1 }) },
  send_nothing: { content: (request) => request.send(200) },
  send_bytes: { content: (request) => request.send(200, new Uint8Array([104, 105])) },
  write_bytes: { content: (request) => { const body = request.respond(200); body.write(new Uint8Array([104, 105])); body.end(); return -2; } },
  filter_bytes: { header: () => ({ ...filter(2), write: (piece, out) => out.write(new Uint8Array([104, 105])) }) },
  respond_nan: { content: (request) => { request.respond(200, 'text/plain', NaN); return -2; } },
  respond_text: { content: (request) => { request.respond(200, 'text/plain', '5'); return -2; } },
  send_from_nan: { content: (request) => request.sendFrom(200, { length: NaN, read: () => 0 }) },
  send_from_minus: { content: (request) => request.sendFrom(200, { length: -2, read: () => 0 }) },
  throw_proxy: { access: () => { throw new Proxy({}, { get() { process.exit(7); }, getPrototypeOf() { throw new Error('trap'); } }); } },
  reject_proxy: { access: () => Promise.reject(new Proxy(new Error('x'), { get() { throw new Error('trap'); } })) },
  throw_odd: { access: () => { throw { toString() { throw new Error('trap'); } }; } },
  variable: { access: (request) => { request.variable('acme_broken'); return DECLINED; } },
  reject_bad: { access: (request) => request.reject('403', '{}') },
};`);

function start(t: Scope, locations: string): Promise<Srv> {
  return startSrv(
    t,
    `load_module modules/acme.mjs; error_log logs/error.log info; events {}
    http { server { listen 127.0.0.1:%%PORT_web%%; ${locations} } }`,
    { files: { 'modules/acme.mjs': MODULE } },
  );
}

const location = (name: string): string => `location /${name} { does ${name}; return 200 "hello"; }`;

const CUTS_OFF: readonly (readonly [name: string, reason: RegExp])[] = [
  ['shorter', /the body filters wrote 5 of the 30 bytes of Content-Length/],
  ['async_end', /a method of a body filter must not return a promise/],
  ['late_text', /a body filter must write Buffers, not 'text'/],
];

const WRONG = ['result_99', 'send_0', 'send_100', 'set_nothing', 'redirect_relative', 'redirect_nothing', 'delay_nothing', 'delay_long'];
const LENGTHS = ['respond_nan', 'respond_text', 'send_from_nan', 'send_from_minus'];
const THROWN = ['throw_proxy', 'reject_proxy', 'throw_odd'];
const BAD = ['send_number', 'send_object', 'send_nothing'];
const GOOD = ['send_bytes', 'write_bytes'];
const FILTERS = ['set_framing', 'append_framing', 'remove_framing', 'no_content', 'not_modified', 'async_log', 'filter_bytes'];

const shared = sharedScope((scope) =>
  start(
    scope,
    `${[...FILTERS, ...CUTS_OFF.map(([name]) => name)].map(location).join('\n')}
    ${[...WRONG, ...LENGTHS, ...THROWN, ...BAD, ...GOOD, 'variable'].map((name) => `location /${name} { does ${name}; }`).join('\n')}
    location /own { return 200 "$acme_broken"; }
    location / { return 200 fine; }`,
  ),
);

test('fields that frame a response are the engine’s', async (t) => {
  const srv = await shared();
  for (const name of ['set_framing', 'append_framing', 'remove_framing']) {
    const received = await exchange(t, srv.port('web'), `GET /${name} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    t.regex(
      received,
      /^HTTP\/1\.1 200 OK\r\nServer: .*\r\nDate: \w{3}, .*\r\n(?:Content-Type: .*\r\n)?Content-Length: 5\r\nConnection: close\r\n\r\nhello$/,
    );
  }
});

test('a status without a body drops the body, for the client and for what follows on the connection', async (t) => {
  const srv = await shared();
  for (const [name, status] of [
    ['no_content', 204],
    ['not_modified', 304],
  ] as const) {
    const request = `GET /${name} HTTP/1.1\r\nHost: a\r\n\r\n`;
    const received = await exchange(t, srv.port('web'), request + request.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
    t.regex(received, new RegExp(`^HTTP/1\\.1 ${status} [^]*\r\n\r\nHTTP/1\\.1 ${status} [^]*\r\n\r\n$`));
    t.notRegex(received, /hello/);
  }
});

const COSTS_500: readonly (readonly [name: string, reason: RegExp])[] = [
  ['interim', /the status of a response must be a number from 200 to 999, not 100/],
  ['no_status', /the status of a response must be a number from 200 to 999, not 'fine'/],
  ['no_length', /the length of a body filter must be a number of bytes, not '4'/],
  ['longer', /the body filters wrote more than the 3 bytes of Content-Length/],
  ['async_header', /the header filter returned Promise/],
  ['async_body', /a method of a body filter must not return a promise/],
  ['reject_bad', /the status of a response must be a number from 200 to 999, not '403'/],
];

test('what filters and handlers do wrong costs their request a 500, and is logged with the name of the module', async (t) => {
  const backend = await httpBackend(t, (_, response) => response.end('hello'));
  const places = COSTS_500.map(([name]) => `location /${name} { does ${name}; proxy_pass http://127.0.0.1:${backend.port}; }`);
  const srv = await start(t, `${places.join('\n')} location / { return 200 fine; }`);
  for (const [name, reason] of COSTS_500) {
    t.is((await get(srv.port('web'), `/${name}`)).status, 500, name);
    await srv.waitForLog(new RegExp(`\\[crit\\] .*a handler of "acme" failed: [^\n]*${reason.source}`));
    t.is((await get(srv.port('web'), '/')).body, 'fine');
  }
});

test('a body filter that fails when bytes are out cuts its response off', async (t) => {
  const srv = await shared();
  for (const [name, reason] of CUTS_OFF) {
    await t.throwsAsync(get(srv.port('web'), `/${name}`), { message: /aborted|socket hang up/ }, name);
    await srv.waitForLog(new RegExp(`\\[crit\\] .*a handler of "acme" failed: [^\n]*${reason.source}`));
    t.is((await get(srv.port('web'), '/')).body, 'fine');
  }
});

test('a log handler that rejects is logged, and costs nobody anything', async (t) => {
  const srv = await shared();
  t.is((await get(srv.port('web'), '/async_log')).body, 'hello');
  await srv.waitForLog(/\[crit\] .*a handler of "acme" failed: Error: async log/);
  t.is((await get(srv.port('web'), '/async_log')).body, 'hello');
});

test('fields that are set before a member responds survive its response', async (t) => {
  const backend = await httpBackend(t, (_, response) => response.setHeader('Set-Cookie', 'b=2').end('member'));
  const srv = await start(t, `location / { does fields; proxy_pass http://127.0.0.1:${backend.port}; }`);
  const { headers, body } = await get(srv.port('web'), '/');
  t.is(body, 'member');
  t.is(headers['x-before'], 'kept');
  t.is(headers['content-type'], 'text/mine');
  t.deepEqual(headers['set-cookie'], ['a=1', 'b=2']);
});

test('request.upstream changes what a member gets, apart from what frames the request', async (t) => {
  const backend = await httpBackend(t, (request, response) => {
    request.resume();
    response.end(JSON.stringify(request.headers));
  });
  const srv = await start(
    t,
    `location / { does upstream; proxy_pass http://127.0.0.1:${backend.port}; proxy_set_header X-Conf conf; proxy_set_header X-Kept kept; }`,
  );
  const headers = { 'x-client': 'client', 'x-gone': 'client', 'x-other': 'client' };
  const { body } = await get(srv.port('web'), '/', { method: 'POST', headers, body: 'four' });
  t.like(JSON.parse(body), {
    host: 'other',
    'x-new': 'new',
    'x-client': 'changed',
    'x-gone': undefined,
    'x-other': 'client',
    'x-conf': 'module',
    'x-kept': 'kept',
    'content-length': '4',
  });
  t.not((JSON.parse(body) as { connection?: string }).connection, 'x');
});

test('a rejection has its body, unless satisfy or error_page say something else', async (t) => {
  const backend = await httpBackend(t, (_, response) => response.end('member'));
  const pass = `proxy_pass http://127.0.0.1:${backend.port};`;
  const srv = await start(
    t,
    `location /plain { does reject; ${pass} }
    location /typed { does reject_type; ${pass} }
    location /page { does reject; error_page 401 = /own; ${pass} }
    location /any { does reject; satisfy any; allow all; ${pass} }
    location /none { does reject; satisfy any; deny all; ${pass} }
    location /all { does reject; allow all; ${pass} }
    location /own { return 401 "own page"; }`,
  );
  const ask = async (path: string): Promise<string> => {
    const { status, headers, body } = await get(srv.port('web'), path);
    return `${status} ${headers['content-type'] ?? ''} ${headers['www-authenticate'] ?? ''} ${body}`;
  };
  t.is(await ask('/plain'), '401 text/plain Basic log in first');
  t.is(await ask('/typed'), '403 application/json  {}');
  t.regex(await ask('/page'), /^401 .* own page$/);
  t.regex(await ask('/any'), /^200 .* member$/);
  t.is(await ask('/none'), '401 text/plain Basic log in first');
  t.is(await ask('/all'), '401 text/plain Basic log in first');
});

test('a body is text or bytes, of whatever kind', async (t) => {
  const srv = await shared();
  for (const name of BAD) {
    t.is((await get(srv.port('web'), `/${name}`)).status, 500, name);
    await srv.waitForLog(new RegExp(`must be a string or a Buffer, not (?:5|\\{ a: 1 \\}|undefined)[^]*"GET /${name} `));
  }
  for (const name of [...GOOD, 'filter_bytes']) t.is((await get(srv.port('web'), `/${name}`)).body, 'hi', name);
});

test('what a handler cannot mean is a 500, and logged with its module', async (t) => {
  const srv = await shared();
  for (const name of WRONG) {
    t.is((await get(srv.port('web'), `/${name}`)).status, 500, name);
    await srv.waitForLog(new RegExp(`a handler of "acme" failed: (?:Type|Range)Error: [^]*"GET /${name} `));
  }
});

test('a length that is not a number of bytes is a 500, and logged with its module', async (t) => {
  const srv = await shared();
  for (const name of LENGTHS) {
    t.is((await get(srv.port('web'), `/${name}`)).status, 500, name);
    await srv.waitForLog(
      new RegExp(`a handler of "acme" failed: TypeError: the length of a body must be a number of bytes[^]*"GET /${name} `),
    );
  }
});

test('whatever a handler throws costs its request alone', async (t) => {
  const srv = await shared();
  for (const name of THROWN) {
    t.is((await get(srv.port('web'), `/${name}`)).status, 500, name);
    await srv.waitForLog(new RegExp(`a handler of "acme" failed: a (?:Proxy|value) was thrown[^]*"GET /${name} `));
  }
  t.is((await get(srv.port('web'), '/')).body, 'fine');
});

test('a variable that fails is logged as that of its module, the caller for it, with lines of the sources', async (t) => {
  const srv = await shared();
  for (const path of ['/variable', '/own']) {
    t.is((await get(srv.port('web'), path)).status, 500, path);
    await srv.waitForLog(
      new RegExp(`variable "acme_broken" of module "acme" failed: Error: no value.*core/kernel/module-variables\\.ts:\\d+.*"GET ${path} `),
    );
  }
});
