import { chmodSync, existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { hashOf, makeToken, printTokenLine, scopesOf } from '../../core/control/access/token-file.js';
import { exchange, get, json, type JsonResponse } from '../harness/client.js';
import { shared as sharedBy } from '../harness/scope.js';
import { tempFolder, writeInto } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import { errorOf } from './api-client.js';
import { followEvents } from './event-client.js';
import { startNode, upstreams, type Node } from './node.js';

/** Tokens of the shared node by their names, which say what they may do. */
const SCOPES = {
  reader: 'read',
  writer: 'write',
  shop: 'write upstream:shop',
  kv: 'read write module:kv',
  looker: 'read upstream:shop upstream:demo',
  expired: 'write',
} as const;
type Name = keyof typeof SCOPES;

interface Shared {
  readonly node: Node;
  readonly tokens: Readonly<Record<Name, string>>;
}

const line = (name: string, token: string, scopes: string, expires?: number): string =>
  printTokenLine({ name, hash: hashOf(token), expires, scopes: scopesOf(name, scopes.split(' ')) });

const CONTROL = `
  api_audit_log logs/audit.log;
  server { listen 127.0.0.1:%%PORT_tokens%%; api_tokens api_tokens; api_failed_attempts 0 1m;
    location /api { dyn_module_api; } location /kv { dyn_sendmsg_kv; } }
  server { listen unix:%%PREFIX%%/api.sock mode=0660; listen unix:%%PREFIX%%/plain.sock; location /api { dyn_module_api; } }
  server { listen 127.0.0.1:%%PORT_limited%%; api_tokens api_tokens; api_failed_attempts 3 1m; location /api { dyn_module_api; } }
  server { listen 127.0.0.1:%%PORT_readonly%%; api_read_only on; api_audit_log /dev/full; location /api { dyn_module_api; } location /kv { dyn_sendmsg_kv; } }
  server { listen 127.0.0.1:%%PORT_basic%%; auth_basic srv; auth_basic_user_file users; api_failed_attempts 0 1m; location /api { dyn_module_api; } }
  server { listen 127.0.0.1:%%PORT_limits%%; api_failed_attempts 0 1m;
    location /api { dyn_module_api; api_limit_except upstream_api GET { auth_basic "who are you"; auth_basic_user_file users; }
      api_limit_except kv GET { allow 127.0.0.2; deny all; auth_basic x; auth_basic_user_file users; } } }`;

const shared = sharedBy(async (scope): Promise<Shared> => {
  const prefix = tempFolder(scope);
  const tokens = Object.fromEntries(Object.keys(SCOPES).map((name) => [name, makeToken()])) as Record<Name, string>;
  const lines = Object.entries(SCOPES).map(([name, words]) =>
    line(name, tokens[name as Name], words, name === 'expired' ? Date.parse('2020-01-01T00:00:00Z') : undefined),
  );
  const file = writeInto(prefix, 'conf/api_tokens', '');
  writeFileSync(writeInto(prefix, 'conf/users', ''), `anna:{PLAIN}s3cret\n`);
  chmodSync(file, 0o600);
  writeFileSync(file, `# tokens\n${lines.join('\n')}\n`);
  const node = await startNode(scope, {
    prefix,
    control: CONTROL,
    http: upstreams('demo', 'shop', 'other'),
    main: 'load_module modules/srv_http_events_module.so; load_module modules/srv_http_config_module.so; load_module modules/srv_http_dyn_upstream_module.so;',
    controlMain: `load_module modules/srv_http_events_api_module.so; load_module modules/srv_http_history_api_module.so; load_module modules/srv_http_dyn_upstream_api_module.so;
      load_module modules/srv_http_transactions_api_module.so;`,
  });
  return { node, tokens };
});

const MEMBERS = (upstream: string): string => `/upstream_api/http/upstreams/${upstream}/servers/`;
const authorization = (token: string): { authorization: string } => ({ authorization: `Bearer ${token}` });

/** A call on one of the listeners; `who` is the name of a token or the whole field. */
async function call(port: string, who: Name | undefined, method: string, path: string, body?: unknown): Promise<JsonResponse> {
  const { node, tokens } = await shared();
  return json(node.srv.port(port), method, `/api/v1${path}`, body, who === undefined ? {} : authorization(tokens[who]));
}

const outcome = (answer: JsonResponse): string =>
  answer.status < 400 ? String(answer.status) : `${answer.status} ${errorOf(answer).code}`;

/** The lines of the audit log, once there is one that fits. */
function audited(node: Node, requestId: string): Promise<Record<string, unknown>> {
  return waitFor('the line of the audit log', () => {
    const lines = node.srv.read('logs/audit.log').split('\n').filter(Boolean);
    return lines.map((text) => JSON.parse(text) as Record<string, unknown>).find((entry) => entry['request_id'] === requestId);
  });
}

const CALLS: readonly [method: string, path: string, body?: unknown][] = [
  ['GET', MEMBERS('shop')],
  ['GET', MEMBERS('other')],
  ['GET', '/upstream_api/http/upstreams/'],
  ['GET', '/kv'],
  ['POST', MEMBERS('shop') + '?dry_run=1', { server: '10.0.0.5' }],
  ['POST', MEMBERS('other') + '?dry_run=1', { server: '10.0.0.5' }],
  ['POST', '/kv?dry_run=1', { key: 'a', value: 'b' }],
  ['GET', '/dyn_ups/shop'],
  ['PATCH', '/dyn_ups/other?dry_run=1&force=1', { upstream_body: 'zone other 256k; least_conn' }],
  ['PUT', '/dyn_ups?dry_run=1&force=1', { type: 'del', upstream_name: 'other' }],
  ['PUT', '/dyn_ups?dry_run=1&force=1', { type: 'del', upstream_name: 'shop' }],
  ['GET', '/openapi.json'],
];

test.serial('a token may do what its scopes say, by the route that the path matched', async (t) => {
  const expected: readonly [Name, string][] = [
    ['writer', '++++++++++++'],
    ['reader', '++++---+---+'],
    ['shop', '+---+--+--++'],
    ['kv', '++++--++---+'],
    ['looker', '+------+---+'],
  ];
  for (const [name, flags] of expected) {
    const outcomes: string[] = [];
    for (const [method, path, body] of CALLS) {
      const answer = await call('tokens', name, method, path, body);
      outcomes.push(answer.status < 400 ? 'yes' : outcome(answer));
    }
    t.deepEqual(
      outcomes,
      Array.from(flags, (flag) => (flag === '+' ? 'yes' : '403 InsufficientScope')),
      name,
    );
  }
});

test.serial('a call without a scope for it is told what is missing', async (t) => {
  const answer = await call('tokens', 'looker', 'POST', MEMBERS('shop'), { server: '10.0.0.5' });
  t.is(outcome(answer), '403 InsufficientScope');
  t.deepEqual(errorOf(answer).details, [{ needed: 'write upstream:shop', granted: SCOPES.looker }] as never);
  t.is(answer.headers['www-authenticate'], 'Bearer realm="srv", error="insufficient_scope", scope="write upstream:shop"');
});

test.serial('calls without a valid token get 401 and a challenge', async (t) => {
  const { node, tokens } = await shared();
  const none = await call('tokens', undefined, 'GET', '/kv');
  t.is(outcome(none), '401 Unauthorized');
  t.is(none.headers['www-authenticate'], 'Bearer realm="srv"');
  const port = node.srv.port('tokens');
  const { writer } = tokens;
  const fields = [
    'Bearer srv_wrong',
    `Bearer ${writer.toUpperCase()}`,
    `Bearer ${writer} x`,
    `Bearer ${writer},`,
    `Bearer${writer}`,
    `Token ${writer}`,
    writer,
    'Bearer',
    'Bearer ',
    `Bearer ${writer}=`,
    `Bearer ${'a'.repeat(7000)}`,
    `Basic ${Buffer.from(`writer:${writer}`).toString('base64')}`,
    `Bearer ${tokens.expired}`,
    `Bearer ${hashOf(writer).toString('hex')}`,
  ];
  for (const field of fields) {
    const answer = await json(port, 'GET', '/api/v1/kv', undefined, { authorization: field });
    t.is(outcome(answer), '401 Unauthorized', field.slice(0, 60));
    t.is(answer.headers['www-authenticate'], 'Bearer realm="srv", error="invalid_token"');
  }
  const lowerCase = await json(port, 'GET', '/api/v1/kv', undefined, { authorization: `bearer  ${writer}` });
  t.is(lowerCase.status, 200, 'the name of the scheme has no case');
});

test.serial('a token in two fields or in the query does not count, and an unknown path shows nothing', async (t) => {
  const { node, tokens } = await shared();
  const port = node.srv.port('tokens');
  const send = (head: string): Promise<string> => exchange(t, port, `${head}\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  const good = `Authorization: Bearer ${tokens.writer}`;
  t.regex(await send(`GET /api/v1/kv HTTP/1.1\r\n${good}`), /^HTTP\/1\.1 200 /);
  for (const head of [
    `GET /api/v1/kv?access_token=${tokens.writer} HTTP/1.1`,
    `GET /api/v1/kv HTTP/1.1\r\nCookie: authorization=${tokens.writer}`,
    'GET /api/v1/nothing HTTP/1.1',
    'GET /api/v1/openapi.json HTTP/1.1',
    'GET /api HTTP/1.1',
    'HEAD /api/v1/kv HTTP/1.1',
    'OPTIONS /api/v1/kv HTTP/1.1',
    'GET /kv HTTP/1.1',
    'POST /kv HTTP/1.1\r\nContent-Length: 0',
  ])
    t.regex(await send(head), /^HTTP\/1\.1 401 /, head.slice(0, 70));
  for (const fields of [`${good}\r\n${good}`, `Authorization: Bearer x\r\n${good}`, `${good}\r\nAuthorization: Basic eDp5`])
    t.regex(await send(`GET /api/v1/kv HTTP/1.1\r\n${fields}`), /^HTTP\/1\.1 400 /);
  t.regex(await send(`TRACE /api/v1/kv HTTP/1.1\r\n${good}`), /^HTTP\/1\.1 405 /);
  t.regex(await send(`CONNECT /api/v1/kv HTTP/1.1\r\n${good}`), /^HTTP\/1\.1 40[05] /);
});

test.serial('no form of a path gets around the scope of its route', async (t) => {
  const { node, tokens } = await shared();
  const port = node.srv.port('tokens');
  const base = '/api/v1/upstream_api/http/upstreams';
  const paths = [
    `${base}/other/servers`,
    `${base}//other/servers`,
    `${base}/shop/../other/servers`,
    `${base}/shop/%2e%2e/other/servers`,
    `${base}/%6fther/servers/`,
    `${base}/./other/servers`,
    `/api//v1/upstream_api/http/upstreams/other/servers`,
    `/kv/../api/v1/upstream_api/http/upstreams/other/servers`,
  ];
  for (const path of paths) {
    const head = `POST ${path}?dry_run=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer ${tokens.shop}`;
    const body = '{"server":"10.0.0.5"}';
    const answer = await exchange(t, port, `${head}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    t.regex(answer, /^HTTP\/1\.1 403 [^]*InsufficientScope/, path);
  }
  // Slashes within a name are no steps: there are no such upstreams.
  for (const path of [`${base}/shop%2f..%2fother/servers`, `${base}/shop%2Fother/servers`]) {
    const answer = await json(port, 'POST', `${path}?dry_run=1`, { server: '10.0.0.5' }, authorization(tokens.shop));
    t.is(answer.status, 403, path);
  }
});

test.serial('a location for keys alone has the same rules', async (t) => {
  const { node, tokens } = await shared();
  const send = (port: string, name?: Name) =>
    json(node.srv.port(port), 'POST', '/kv?dry_run=1', { key: 'a', value: 'b' }, name === undefined ? {} : authorization(tokens[name]));
  t.is(outcome(await send('tokens', 'kv')), '200');
  t.is(outcome(await send('tokens', 'reader')), '403 InsufficientScope');
  t.is(outcome(await json(node.srv.port('readonly'), 'POST', '/kv', { key: 'a', value: 'b' })), '403 ReadOnly');
});

test.serial('a read-only API allows reads and dry runs', async (t) => {
  t.is(outcome(await call('readonly', undefined, 'GET', MEMBERS('demo'))), '200');
  t.is(outcome(await call('readonly', undefined, 'POST', `${MEMBERS('demo')}?dry_run=1`, { server: '10.0.0.5' })), '200');
  t.is(outcome(await call('readonly', undefined, 'POST', MEMBERS('demo'), { server: '10.0.0.5' })), '403 ReadOnly');
  t.is(outcome(await call('readonly', undefined, 'DELETE', '/upstream_api/http/upstreams/demo/')), '403 ReadOnly');
  t.is(outcome(await call('readonly', undefined, 'POST', '/kv', { key: 'a', value: 'b' })), '403 ReadOnly');
});

const transact = (who: Name, ...calls: object[]) => call('tokens', who, 'POST', '/transactions', { calls });

test.serial('the calls of a transaction are checked one by one', async (t) => {
  const { node } = await shared();
  const member = (upstream: string, address: string) => ({ method: 'POST', path: `/v1${MEMBERS(upstream)}`, body: { server: address } });
  const before = await node.list('shop');
  const rejected = await transact('shop', member('shop', '10.3.0.1'), member('other', '10.3.0.2'), { ...member('', ''), path: '/v1/kv' });
  t.is(outcome(rejected), '403 InsufficientScope');
  t.deepEqual(
    (errorOf(rejected).details as { index?: number; error?: { code: string } }[]).map(({ index, error }) => [index, error?.code]),
    [
      [1, 'InsufficientScope'],
      [2, 'InsufficientScope'],
    ],
  );
  t.deepEqual(await node.list('shop'), before, 'nothing has changed');
  t.is(outcome(await transact('reader', member('shop', '10.3.0.1'))), '403 InsufficientScope');
  t.is(outcome(await transact('kv', member('shop', '10.3.0.1'))), '403 InsufficientScope');
  const path = `/v1${MEMBERS('shop')}../../other/servers`;
  t.not((await transact('shop', { ...member('', ''), path, body: { server: '10.3.0.3' } })).status, 200);
  const made = await transact('shop', member('shop', '10.3.0.1'), member('shop', '10.3.0.2'));
  t.is(made.status, 200);
  await waitFor('its line', () => /"actor":"shop"[^\n]*"route":"\/v1\/transactions"[^\n]*"count":2/.test(node.srv.read('logs/audit.log')));
  const readOnly = (query: string) => call('readonly', undefined, 'POST', `/transactions${query}`, { calls: [member('shop', '10.3.0.9')] });
  t.is(outcome(await readOnly('?dry_run=1')), '200');
  t.is(outcome(await readOnly('')), '403 ReadOnly');
});

test.serial('a full disk of the audit log is logged once, and calls go on', async (t) => {
  const { node } = await shared();
  const lost = /the audit log lacks lines: write\(\) to "\/dev\/full" failed \(28: No space left on device\)/g;
  for (let i = 0; i < 2; i++) t.is(outcome(await call('readonly', undefined, 'POST', '/kv?dry_run=1', { key: 'a', value: 'b' })), '200');
  await node.srv.waitForLog(lost, 'logs/ctrl.log');
  t.is(node.srv.read('logs/ctrl.log').match(lost)?.length, 1);
});

test.serial('history and audit log say who made a change, and tell no secret', async (t) => {
  const { node, tokens } = await shared();
  const added = await call('tokens', 'shop', 'POST', MEMBERS('shop'), { server: '10.1.2.3' });
  t.is(added.status, 201);
  const [newest] = (await call('tokens', 'reader', 'GET', '/history?limit=1')).json as { origin: string; actor: string; version: number }[];
  t.is(newest?.actor, 'shop');
  const entry = await audited(node, newest?.origin ?? '');
  const { time, changes, ...rest } = entry;
  t.regex(String(time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  t.regex(String(changes), /^\+ http \/ upstream shop \/ server@\d+ 10\.1\.2\.3:80$/);
  t.deepEqual(rest, {
    actor: 'shop',
    auth: 'token',
    client: '127.0.0.1',
    request_id: newest?.origin,
    method: 'POST',
    path: `/api/v1${MEMBERS('shop')}`,
    route: '/v1/upstream_api/http/upstreams/:upstream/servers',
    status: 201,
    version: newest?.version,
    count: 1,
  });
  const rejected = await call('tokens', 'reader', 'POST', '/kv', { key: 'a', value: 'v4lue' });
  const { request_id } = JSON.parse(rejected.body) as { request_id: string };
  t.like(await audited(node, request_id), { actor: 'reader', status: 403, code: 'InsufficientScope', route: '/v1/kv' });
  await call('tokens', 'writer', 'POST', '/kv', { key: 'a', value: 'v4lue' });
  await waitFor('its line', () => /"actor":"writer"[^\n]*"route":"\/v1\/kv"/.test(node.srv.read('logs/audit.log')));
  const dry = await call('tokens', 'writer', 'POST', '/kv?dry_run=1', { key: 'a', value: 'v4lue' });
  t.is(dry.status, 200);
  await waitFor('the line of the dry run', () => node.srv.read('logs/audit.log').includes('"dry_run":true'));
  for (const log of ['logs/audit.log', 'logs/ctrl.log', 'logs/error.log']) {
    t.notRegex(node.srv.read(log), /v4lue/, log);
    for (const token of Object.values(tokens)) t.false(node.srv.read(log).includes(token), log);
  }
});

test.serial('the audit log is opened again after a rotation', async (t) => {
  const { node } = await shared();
  await call('tokens', 'writer', 'POST', '/kv?dry_run=1', { key: 'a', value: 'b' });
  const path = join(node.srv.prefix, 'logs/audit.log');
  await waitFor('a line', () => readFileSync(path, 'utf8').length > 0);
  renameSync(path, `${path}.old`);
  node.srv.signal('SIGUSR1');
  await waitFor('the new file', () => existsSync(path));
  await call('tokens', 'writer', 'POST', '/kv?dry_run=1', { key: 'rotated', value: 'b' });
  await waitFor('a line in it', () => readFileSync(path, 'utf8').includes('"dry_run":true'));
  t.true(readFileSync(`${path}.old`, 'utf8').length > 0);
});

test.serial('after too many failed attempts an address has to wait', async (t) => {
  const { node, tokens } = await shared();
  const port = node.srv.port('limited');
  const attempt = (token?: string) => json(port, 'GET', '/api/v1/kv', undefined, token === undefined ? {} : authorization(token));
  for (let i = 0; i < 5; i++) t.is((await attempt()).status, 401, 'no token is no attempt');
  for (let i = 0; i < 3; i++) t.is(outcome(await attempt('srv_wrong')), '401 Unauthorized');
  const blocked = await attempt(tokens.writer);
  t.is(outcome(blocked), '429 TooManyAttempts');
  const wait = Number(blocked.headers['retry-after']);
  t.true(wait >= 1 && wait <= 60, String(wait));
  const other = await get(port, '/api/v1/kv', { headers: authorization(tokens.writer), localAddress: '127.0.0.3' });
  t.is(other.status, 200, 'another address is not concerned');
});

test.serial('what is rejected before the API is asked is in the audit log as well', async (t) => {
  const { node, tokens } = await shared();
  const headers = authorization(tokens.writer);
  const blocked = await json(node.srv.port('limited'), 'POST', '/api/v1/kv', { key: 'a', value: 'b' }, headers);
  t.is(outcome(blocked), '429 TooManyAttempts');
  const { request_id } = JSON.parse(blocked.body) as { request_id: string };
  t.like(await audited(node, request_id), { actor: 'anonymous', auth: 'none', method: 'POST', path: '/api/v1/kv', status: 429 });
  const lines = node.srv.read('logs/audit.log').split('\n').filter(Boolean);
  const ids = lines.map((text) => (JSON.parse(text) as { request_id: string }).request_id);
  t.is(new Set(ids).size, ids.length, 'each call has one line');
});

test.serial('the user of auth_basic is the actor', async (t) => {
  const { node } = await shared();
  const basic = { authorization: `Basic ${Buffer.from('anna:s3cret').toString('base64')}` };
  const wrong = { authorization: `Basic ${Buffer.from('anna:wrong').toString('base64')}` };
  const add = (port: string, headers: Record<string, string>) =>
    json(node.srv.port(port), 'POST', `/api/v1${MEMBERS('other')}`, { server: '10.9.9.9' }, headers);
  const rejected = await add('basic', wrong);
  t.is(outcome(rejected), '401 Unauthorized');
  t.regex(String(rejected.headers['www-authenticate']), /^Basic realm="srv"/);
  t.is((await add('basic', basic)).status, 201);
  const [newest] = (await call('tokens', 'reader', 'GET', '/history?limit=1')).json as { actor: string }[];
  t.is(newest?.actor, 'anna');
});

test.serial('api_limit_except with auth_basic asks for a password where its rules apply', async (t) => {
  const { node } = await shared();
  const port = node.srv.port('limits');
  const send = (method: string, path: string, user?: string, body?: unknown) =>
    json(
      port,
      method,
      `/api/v1${path}`,
      body,
      user === undefined ? {} : { authorization: `Basic ${Buffer.from(user).toString('base64')}` },
    );
  t.is((await send('GET', MEMBERS('demo'))).status, 200);
  const asked = await send('POST', `${MEMBERS('demo')}?dry_run=1`, undefined, { server: '10.0.0.5' });
  t.is(outcome(asked), '401 Unauthorized');
  t.regex(String(asked.headers['www-authenticate']), /^Basic realm="who are you"/);
  t.is((await send('POST', `${MEMBERS('demo')}?dry_run=1`, 'anna:no', { server: '10.0.0.5' })).status, 401);
  t.is((await send('POST', `${MEMBERS('demo')}?dry_run=1`, 'anna:s3cret', { server: '10.0.0.5' })).status, 200);
  const both = await send('POST', '/kv?dry_run=1', 'anna:s3cret', { key: 'a', value: 'b' });
  t.is(outcome(both), '403 AccessDenied', 'address and password have to be right');
});

test.serial('the API on a unix socket has the mode of the socket, also after its process was killed', async (t) => {
  const { node } = await shared();
  const ask = (name: string): Promise<string> =>
    exchange(t, node.srv.path(name), `GET /api/v1${MEMBERS('demo')} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  t.is(statSync(node.srv.path('api.sock')).mode & 0o777, 0o660);
  t.regex(await ask('api.sock'), /^HTTP\/1\.1 200 /);
  const killed = node.helper('ctrl');
  process.kill(killed, 'SIGKILL');
  await waitFor('another process', () => node.helper('ctrl') !== killed);
  await node.ready();
  for (const name of ['api.sock', 'plain.sock']) t.regex(await ask(name), /^HTTP\/1\.1 200 /, name);
  t.is(statSync(node.srv.path('api.sock')).mode & 0o777, 0o660);
});

test.serial('a reload takes changes of the tokens, and a file that others can read is refused', async (t: ExecutionContext) => {
  const { node, tokens } = await shared();
  const file = join(node.srv.prefix, 'conf/api_tokens');
  const before = readFileSync(file, 'utf8');
  const fresh = makeToken();
  writeFileSync(file, before.replace(/^looker .*$/m, line('fresh', fresh, 'read')));
  t.is((await call('tokens', 'looker', 'GET', MEMBERS('shop'))).status, 200, 'not before the reload');
  const events = await followEvents(t, node.srv.port('tokens'), '', authorization(tokens.reader));
  t.is(events.response.statusCode, 200);
  t.is((await followEvents(t, node.srv.port('tokens'), '', authorization(tokens.looker))).response.statusCode, 403);
  node.srv.signal('SIGHUP');
  await waitFor('the end of the events', () => events.ended);
  const port = node.srv.port('tokens');
  await waitFor('the new token', async () => (await json(port, 'GET', '/api/v1/kv', undefined, authorization(fresh))).status === 200);
  t.is((await call('tokens', 'looker', 'GET', MEMBERS('shop'))).status, 401);
  writeFileSync(file, before.replace(/^reader /m, 'other '));
  chmodSync(file, 0o640);
  node.srv.signal('SIGHUP');
  await node.srv.waitForLog(/conf\/api_tokens" can be read or changed by other users \(mode 0640\)/);
  t.is((await json(port, 'GET', '/api/v1/kv', undefined, authorization(fresh))).status, 200, 'the tokens before are in force');
  t.is((await call('tokens', 'reader', 'GET', '/kv')).status, 200);
  t.true(tokens.reader.startsWith('srv_'));
});
