/** The sketches of docs/modules.md, built and used. */
import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { get, json } from '../harness/client.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import { ROOT, TEMPLATE } from './readme.js';

const run = promisify(execFile);

/** Name and source of the files on the page. */
function sketches(): readonly (readonly [path: string, source: string])[] {
  const page = readFileSync(join(ROOT, 'docs/modules.md'), 'utf8');
  return [...page.matchAll(/^```ts\n\/\/ (?<path>\S+)\n(?<source>[^]*?)^```/gm)].map(
    ({ groups }) => [groups?.['path'] ?? '', groups?.['source'] ?? ''] as const,
  );
}

/** Builds the sketches in a folder like that of the template. Returns their JavaScript by path. */
async function build(t: ExecutionContext): Promise<Readonly<Record<string, string>>> {
  const folder = tempFolder(t, Object.fromEntries(sketches()));
  for (const file of ['package.json', 'tsconfig.json']) copyFileSync(join(TEMPLATE, file), join(folder, file));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules/srv'));
  await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder]).catch((error: { stdout: string }) => t.fail(error.stdout));
  const built = sketches().map(([path]) => path.replace(/\.mts$/, '.mjs'));
  return Object.fromEntries(built.map((path) => [path, readFileSync(join(folder, 'dist', path), 'utf8')]));
}

const DATA = `
  load_module modules/acme_http_maintenance_module.mjs;
  load_module modules/acme_http_client_kind_module.mjs;
  load_module modules/acme_http_drain_module.mjs;
  helper broker modules/srv_helper_broker_module.js conf/broker.conf;
  helper ctrl modules/srv_helper_ctrl_module.js conf/ctrl.conf;
  worker_processes 2;
  events {}
  http {
    upstream shop { zone shop 64k; server 127.0.0.1:%%PORT_one%% weight=2; server 127.0.0.1:%%PORT_two%%; }
    server {
      listen 127.0.0.1:%%PORT_web%%;
      location / { return 200 $client_kind; }
      location /shop { maintenance closed retry=10m; proxy_pass http://shop; }
    }
    server { listen 127.0.0.1:%%PORT_one%%; listen 127.0.0.1:%%PORT_two%%; location / { return 200 "shop"; } }
  }`;
const CONTROL = `
  load_module modules/srv_http_sendmsg_module.js;
  load_module modules/acme_http_drain_api_module.mjs;
  events {}
  http { server { listen 127.0.0.1:%%PORT_ctrl%%; location /api { dyn_module_api; } } }`;

/** A server with all the sketches loaded, and its API up. */
async function start(t: ExecutionContext): Promise<Srv> {
  const modules = await build(t);
  const files = { 'conf/broker.conf': '', 'conf/ctrl.conf': CONTROL, ...modules };
  const srv = await startSrv(t, DATA, { files });
  await waitFor('the API', () =>
    json(srv.port('ctrl'), 'GET', '/api/v1/openapi.json').then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
  return srv;
}

test('the sketches are built and do what the page says', async (t) => {
  const srv = await start(t);
  const web = srv.port('web');
  const ctrl = srv.port('ctrl');

  t.is((await get(web, '/', { headers: { 'user-agent': 'Examplebot/1.0' } })).body, 'robot');
  t.is((await get(web, '/')).body, 'person');

  t.is((await get(web, '/shop')).status, 200);
  await json(ctrl, 'POST', '/api/v1/kv', { key: 'closed', value: 'on' });
  const closed = await get(web, '/shop');
  t.is(closed.status, 503);
  t.is(closed.headers['retry-after'], '600');
  await json(ctrl, 'DELETE', '/api/v1/kv?key=closed');
  t.is((await get(web, '/shop')).status, 200);

  const dry = await json(ctrl, 'POST', '/api/v1/acme_drain?dry_run=1', { upstream: 'shop' });
  t.like(dry.json, { dry_run: true });
  t.is((await get(web, '/shop')).status, 200);
  const drained = await json(ctrl, 'POST', '/api/v1/acme_drain', { upstream: 'shop' });
  t.deepEqual(drained.json, { drained: 2 });
  t.is((await get(web, '/shop')).status, 502, 'no member is left');
  t.is((await json(ctrl, 'POST', '/api/v1/acme_drain', { upstream: 'none' })).status, 404);
  t.is((await json(ctrl, 'POST', '/api/v1/acme_drain', { upstream: 1 })).status, 400);
  const document = await json(ctrl, 'GET', '/api/v1/openapi.json');
  t.regex(document.body, /"\/v1\/acme_drain"/);
});
