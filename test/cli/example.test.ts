/** What a new user sees: the configuration that is shipped, with nothing else installed. */
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import test from 'ava';
import { get, json } from '../harness/client.js';
import { shared } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const CONF = resolve(import.meta.dirname, '../../../conf');

/** A shipped file on free ports. */
function shipped(name: string): string {
  const text = readFileSync(`${CONF}/${name}`, 'utf8');
  return text.replaceAll(/\b(?:8080|8081|910[1-4])\b/g, (port) => `%%PORT_p${port}%%`);
}

const example = shared(async (scope): Promise<Srv> => {
  const files = { 'conf/srv_ctrl.conf': shipped('srv_ctrl.conf'), 'conf/srv_broker.conf': shipped('srv_broker.conf') };
  const srv = await startSrv(scope, shipped('srv.conf'), { files, env: { npm_lifecycle_event: 'start' } });
  await waitFor('the start message', () => srv.stdout.includes('set a key:'));
  return srv;
});

const answers = (srv: Srv, count: number): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, async () => (await get(srv.port('p8080'), '/')).body.trim()));

test.serial('it says where it listens and what to try', async (t) => {
  const srv = await example();
  const lines = srv.stdout.trimEnd().split('\n');
  t.is(lines.length, 6);
  t.regex(lines[0] ?? '', new RegExp(`^srv is ready: process ${srv.pid}, \\d+ workers?$`));
  t.true(lines[1]?.startsWith(`traffic on 0.0.0.0:${srv.port('p8080')}, `));
  t.is(lines[2], `helper ctrl on 127.0.0.1:${srv.port('p8081')}`);
  for (const line of lines.slice(3)) t.regex(line, /^(see it balance|add a member|set a key): +.*curl /);
});

test.serial('it balances, takes a member, and takes a key', async (t) => {
  const srv = await example();
  t.deepEqual([...new Set(await answers(srv, 12))].sort(), ['one', 'three', 'two']);

  const members = `/api/v1/upstream_api/http/upstreams/demo/servers/`;
  const added = await json(srv.port('p8081'), 'POST', members, { server: `127.0.0.1:${srv.port('p9104')}` });
  t.is(added.status, 201, added.body);
  t.deepEqual([...new Set(await answers(srv, 16))].sort(), ['four', 'one', 'three', 'two']);

  const set = await json(srv.port('p8081'), 'POST', '/api/v1/kv', { key: 'color', value: 'red' });
  t.is(set.status, 200, set.body);
  t.is((await get(srv.port('p8080'), '/')).headers['x-color'], 'red');
});

test.serial('the audit log is where no log that the API sets can be', async (t) => {
  const srv = await example();
  const api = srv.port('p8081');
  await json(api, 'POST', '/api/v1/kv', { key: 'color', value: 'red' });
  await srv.waitForLog(/"route":"\/v1\/kv"/, 'data/audit.log');
  t.is(statSync(srv.path('data/audit.log')).mode & 0o777, 0o600);
  const locations = [{ location_rule: '', location_name: '/x', location_body: 'access_log data/audit.log;' }];
  const place = { type: 'add', addr_port: `0.0.0.0:${srv.port('p8080')}`, server_name: '' };
  const added = await json(api, 'POST', '/api/v1/dyn_loc', { ...place, locations });
  t.is(added.status, 400);
  t.regex(added.body, /cannot name \\"data\/audit\.log\\" through the API/);
});

test.serial('the request id that a rejected caller is notified is in the log of the API', async (t) => {
  const srv = await example();
  const refused = await json(srv.port('p8081'), 'GET', '/api/v1/none');
  t.is(refused.status, 404);
  const { request_id: id } = refused.json as { request_id: string };
  await srv.waitForLog(new RegExp(`"GET /api/v1/none HTTP/1.1" 404 .* ${id}$`, 'm'), 'logs/ctrl_access.log');
});
