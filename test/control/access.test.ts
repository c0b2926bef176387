import { X509Certificate } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { hashOf, makeToken } from '../../core/api/access/token-file.js';
import { selfSigned, type Certificate } from '../harness/certificate.js';
import { connectRawTls, exchange, get, json, type JsonResponse } from '../harness/client.js';
import { shared as sharedBy } from '../harness/scope.js';
import { waitFor } from '../harness/wait.js';
import { audited, authorization, line, MEMBERS, outcome, SCOPES, startAccessNode, type Name } from './access-node.js';
import { errorOf } from './api-client.js';
import { followEvents } from './event-client.js';

const shared = sharedBy(startAccessNode);

/** A call on one of the listeners; `who` is the name of a token or the whole field. */
async function call(
  port: string,
  who: Name | undefined,
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<JsonResponse> {
  const { node, tokens } = await shared();
  return json(node.srv.port(port), method, `/api/v1${path}`, body, { ...headers, ...(who !== undefined && authorization(tokens[who])) });
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
  const scoped = '403 [^]*InsufficientScope';
  const absent = '404 [^]*PathNotFound';
  const paths: readonly (readonly [path: string, response: string])[] = [
    [`${base}/other/servers`, scoped],
    [`${base}//other/servers`, absent],
    [`${base}/shop/../other/servers`, absent],
    [`${base}/shop/%2e%2e/other/servers`, absent],
    [`${base}/%6fther/servers/`, scoped],
    [`${base}/./other/servers`, absent],
    [`/api//v1/upstream_api/http/upstreams/other/servers`, scoped],
    [`/kv/../api/v1/upstream_api/http/upstreams/other/servers`, absent],
  ];
  for (const [path, response] of paths) {
    const head = `POST ${path}?dry_run=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer ${tokens.shop}`;
    const body = '{"server":"10.0.0.5"}';
    const answer = await exchange(t, port, `${head}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    t.regex(answer, new RegExp(`^HTTP/1.1 ${response}`), path);
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

/** A call within a transaction. */
const member = (upstream: string, address: string) => ({ method: 'POST', path: `/v1${MEMBERS(upstream)}`, body: { server: address } });
const transact = (who: Name, ...calls: object[]) => call('tokens', who, 'POST', '/transactions', { calls });

test.serial('the calls of a transaction are checked one by one', async (t) => {
  const { node } = await shared();
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
  const added = await call('tokens', 'shop', 'POST', MEMBERS('shop'), { server: '10.1.2.3' }, { 'change-message': 'more room' });
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
    message: 'more room',
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

interface TlsCall {
  readonly method?: string;
  readonly path?: string;
  readonly body?: string;
  readonly headers?: string;
  readonly host?: string;
  readonly servername?: string;
}

/** The status and the rest of a response to a client with a certificate. */
async function tlsCall(
  t: ExecutionContext,
  port: string,
  who: Certificate | undefined,
  {
    method = 'GET',
    path = `/api/v1${MEMBERS('shop')}`,
    body = '',
    headers = '',
    host = 'localhost',
    servername = 'localhost',
  }: TlsCall = {},
): Promise<string> {
  const { node } = await shared();
  const client = await connectRawTls(t, node.srv.port(port), { servername, ...(who && { cert: who.cert, key: who.key }) });
  const length = body === '' ? '' : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  client.send(`${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${length}${headers}\r\n${body}`);
  return (await client.receiveAll()).slice('HTTP/1.1 '.length);
}

test.serial('a certificate has the scopes of its subject or fingerprint', async (t) => {
  const { deploy, reader, stranger, tokens } = await shared();
  const token = tokens.reader;
  const add = { method: 'POST', body: '{"server":"10.7.7.7"}' };
  t.regex(await tlsCall(t, 'scopes', reader), /^200 /);
  t.regex(await tlsCall(t, 'scopes', reader, add), /^403 [^]*InsufficientScope/);
  t.regex(await tlsCall(t, 'scopes', deploy, { path: '/api/v1/kv' }), /^403 [^]*"needed":"read module:kv"/);
  t.regex(await tlsCall(t, 'scopes', deploy, add), /^201 /);
  t.regex(await tlsCall(t, 'scopes', stranger), /^400 [^]*"the client certificate is not valid"/);
  t.regex(await tlsCall(t, 'scopes', undefined), /^400 [^]*"a client certificate is required"/);
  t.regex(
    await tlsCall(t, 'scopes', deploy, { headers: `Authorization: Bearer ${token}\r\n`, path: '/api/v1/kv' }),
    /^200 /,
    'a token goes first',
  );
  t.regex(await tlsCall(t, 'scopes', deploy, { headers: 'Authorization: Bearer srv_wrong\r\n' }), /^401 /);
});

test.serial('the subject of a certificate is the actor', async (t) => {
  const { node, deploy } = await shared();
  t.regex(await tlsCall(t, 'all', deploy, { method: 'POST', body: '{"server":"10.8.8.8"}' }), /^201 /);
  t.regex(await tlsCall(t, 'all', deploy, { path: '/api/v1/history?limit=1' }), /"actor":"CN=deploy"/);
  await node.srv.waitForLog(/"actor":"CN=deploy","auth":"certificate","client":"127\.0\.0\.1"[^\n]*"status":201/, 'logs/audit.log');
});

test.serial('with an optional certificate a token does as well, and nothing is nobody', async (t) => {
  const { deploy, reader, tokens } = await shared();
  const token = tokens.reader;
  t.regex(await tlsCall(t, 'optional', deploy), /^200 /);
  t.regex(await tlsCall(t, 'optional', undefined), /^401 /);
  t.regex(await tlsCall(t, 'optional', reader), /^401 /, 'valid, and not known here');
  t.regex(await tlsCall(t, 'optional', undefined, { headers: `Authorization: Bearer ${token}\r\n` }), /^200 /);
});

test.serial('without authorities a certificate counts by its fingerprint, never by its subject', async (t) => {
  const { deploy, stranger } = await shared();
  t.regex(await tlsCall(t, 'any', stranger), /^200 /);
  t.regex(await tlsCall(t, 'any', deploy), /^401 /);
  t.regex(await tlsCall(t, 'any', selfSigned('stranger')), /^401 /);
});

test.serial('variables, and the server of another name than the one of the handshake', async (t) => {
  const { deploy } = await shared();
  const shown = new X509Certificate(deploy.cert);
  const at = (servername: string, host: string) => tlsCall(t, 'names', deploy, { path: '/', servername, host });
  const fingerprint = shown.fingerprint.replaceAll(':', '').toLowerCase();
  t.true((await at('strict.test', 'strict.test')).endsWith(`SUCCESS CN=deploy CN=deploy ${fingerprint} ${shown.serialNumber}`));
  t.true((await at('open.test', 'open.test')).endsWith('open NONE '));
  t.regex(await at('open.test', 'strict.test'), /^421 /);
});

test.serial('a resumed session has the certificate that it began with', async (t) => {
  const { node, deploy } = await shared();
  const options = { servername: 'localhost', cert: deploy.cert, key: deploy.key };
  const request = `GET /api/v1${MEMBERS('shop')} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const first = await connectRawTls(t, node.srv.port('scopes'), { ...options, maxVersion });
    // That of TLS 1.2 is there after the handshake, those of TLS 1.3 come later.
    let session: Buffer | undefined = (first.socket as TLSSocket).getSession();
    first.socket.on('session', (given: Buffer) => (session = given));
    first.send(request);
    t.regex(await first.receiveAll(), /^HTTP\/1\.1 200 /);
    const second = await connectRawTls(t, node.srv.port('scopes'), { ...options, maxVersion, ...(session && { session }) });
    t.true((second.socket as TLSSocket).isSessionReused(), maxVersion);
    second.send(request);
    t.regex(await second.receiveAll(), /^HTTP\/1\.1 200 /, maxVersion);
  }
});

test.serial('a reload takes changes of the tokens, and a file that others can read is rejected', async (t: ExecutionContext) => {
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
