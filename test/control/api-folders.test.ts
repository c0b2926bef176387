/** Configuration that comes through the API names files of `api_folders` alone. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import test from 'ava';
import { selfSigned } from '../harness/certificate.js';
import { get, type JsonResponse } from '../harness/client.js';
import { shared } from '../harness/scope.js';
import { tempFolder, writeInto } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import { errorOf } from './api-client.js';
import { startNode, type Node } from './node.js';

const LOADED = ['location', 'dyn_server', 'dyn_upstream', 'history'];
const modules = (suffix: string): string =>
  LOADED.filter((name) => name !== 'history' || suffix !== '')
    .map((name) => `load_module modules/srv_http_${name}${suffix}_module.so;`)
    .join(' ');

const site = shared(async (scope): Promise<Node> => {
  const prefix = tempFolder(scope);
  const { cert, key } = selfSigned('a.test');
  const outside = tempFolder(scope);
  for (const folder of ['www', 'logs', 'linked', 'linked/dist']) mkdirSync(`${prefix}/${folder}`);
  // The code is elsewhere, where another link leads to.
  symlinkSync(`${prefix}/linked/dist`, `${prefix}/dist`);
  mkdirSync(`${prefix}/modules`);
  writeInto(outside, 'secret', 'secret');
  symlinkSync(outside, `${prefix}/www/out`);
  symlinkSync(`${outside}/missing`, `${prefix}/www/dangling`);
  return startNode(scope, {
    workers: 1,
    prefix,
    main: `${modules('')} load_module modules/srv_http_config_module.so; load_module modules/srv_http_dyn_log_module.so;`,
    controlMain: `${modules('_api')} load_module modules/srv_http_config_api_module.so; load_module modules/srv_http_dyn_log_module.so;`,
    files: {
      'www/a.txt': 'a',
      'www/site/b.txt': 'b',
      'conf/cert.pem': cert,
      'conf/cert.key': key,
      'certs/cert.pem': cert,
      'certs/cert.key': key,
      'www/users': 'anna:{PLAIN}x\n',
      'secret.txt': 'secret',
    },
    http: `upstream demo { zone demo 64k; server 127.0.0.1:1; } api_log_folder ${outside};`,
    server: `root www; location /file { alias ${outside}; } location / { proxy_pass http://demo; }
      location /up { rewrite ^ /../secret.txt break; } location /tried { try_files /../secret.txt =404; }
      location /chosen { root www/$arg_d; } location /index { index ../../secret.txt; }`,
  });
});

async function addLocation(body: string, name = '/x', query = ''): Promise<JsonResponse> {
  const node = await site();
  const locations = [{ location_rule: '', location_name: name, location_body: body }];
  return node.call('POST', `/dyn_loc${query}`, { type: 'add', addr_port: `127.0.0.1:${node.srv.port('web')}`, server_name: '', locations });
}

async function allowed(body: string): Promise<boolean> {
  return (await addLocation(body, '/x', '?dry_run=1')).status === 200;
}

const REJECTED = [
  'alias /etc/;',
  'root /etc;',
  'root /;',
  'alias conf/;',
  'alias data/;',
  'alias modules/;',
  'alias logs/;',
  'root logs;',
  'root logs/$arg_x;',
  'root ../;',
  'root www/../conf;',
  'alias www/out/;',
  'alias www/dangling;',
  'root $arg_x;',
  'root $document_root/../conf;',
  'root www/out/$arg_x;',
  'root w$arg_x;',
  'root /$arg_x;',
  'location /x/y { alias /etc/; }',
  'if ($arg_a) { root /etc; }',
  'access_log /etc/x.log;',
  'access_log modules/x.mjs;',
  'access_log $arg_x;',
  'error_log /var/log/x.log;',
  'error_log syslog:server=unix:/run/notify;',
  'access_log syslog:tag=a,server=unix:/run/notify;',
  'auth_basic a; auth_basic_user_file /etc/shadow;',
  'auth_basic a; auth_basic_user_file users;',
  'client_body_temp_path /etc/x;',
  'proxy_pass https://demo; proxy_ssl_trusted_certificate /etc/ssl/certs/ca-certificates.crt;',
];

for (const body of REJECTED)
  test.serial(`a location of the API cannot have: ${body}`, async (t) => {
    const answer = await addLocation(body, '/x', '?dry_run=1');
    t.is(answer.status, 400, answer.body);
    const [detail] = errorOf(answer).details as unknown as readonly { message: string; hint: string; line: number }[];
    t.regex(detail?.message ?? '', /^"\w+" cannot name ".+" through the API/);
    t.regex(detail?.hint ?? '', /"api_folders"/);
    t.is(detail?.line, 1);
    t.notRegex(answer.body, /srv-test|\/dev\/shm/);
  });

/** Folders around those of configuration, data and code. */
const AROUND = [
  'alias ./;',
  'alias .;',
  'root .;',
  'root "";',
  'alias %%PREFIX%%/;',
  'root %%PREFIX%%;',
  'root %%PREFIX%%/$arg_x;',
  'root ./$arg_x;',
  'root ./da$arg_x;',
  'access_log ./$arg_x;',
  'client_body_temp_path .;',
  'alias linked/;',
];

for (const body of AROUND)
  test.serial(`a location of the API cannot have, with what is in it: ${body}`, async (t) => {
    const { srv } = await site();
    const answer = await addLocation(body.replace('%%PREFIX%%', srv.prefix), '/x', '?dry_run=1');
    t.is(answer.status, 400, answer.body);
    const [detail] = errorOf(answer).details as unknown as readonly { message: string; hint: string }[];
    t.regex(detail?.message ?? '', /^"\w+" cannot name ".*" through the API/);
    t.regex(detail?.hint ?? '', /^it contains the folder "\w+", .*name a folder in it instead.*"api_folders"/);
  });

const ACCEPTED = [
  'alias www/;',
  'root www;',
  'root www/$host;',
  'alias %%PREFIX%%/www/;',
  'root www; try_files $uri $uri/ /a.txt =404;',
  'access_log logs/x.log;',
  'access_log logs/$host.log;',
  'access_log off;',
  'access_log syslog:server=127.0.0.1:5514;',
  'auth_basic a; auth_basic_user_file ../www/new/../users;',
  'client_body_temp_path body;',
  'types { text/plain txt; }',
];

for (const body of ACCEPTED)
  test.serial(`a location of the API may have: ${body}`, async (t) => {
    const { srv } = await site();
    const { status, body: answer } = await addLocation(body.replace('%%PREFIX%%', srv.prefix), '/x', '?dry_run=1');
    t.is(status, body.includes('..') ? 400 : 200, answer);
  });

/** Lines of a server with TLS. */
const certificate = (folder: string): string => `ssl_certificate ${folder}/cert.pem; ssl_certificate_key ${folder}/cert.key;`;

test.serial('certificates and sockets are files', async (t) => {
  const node = await site();
  const add = (body: string, listen = '127.0.0.1:1', query = '?dry_run=1'): Promise<JsonResponse> =>
    node.call('POST', `/dyn_srv${query}`, { type: 'add', addr_port: listen, server_name: 'a.test', server_body: body });
  const port = node.srv.port('web');
  t.is((await add(certificate(`${node.srv.prefix}/conf`), `127.0.0.1:${port}`)).status, 400);
  t.is((await add(certificate(`${node.srv.prefix}/certs`), `127.0.0.1:${port}`)).status, 200);
  t.is((await add('return 200;', 'unix:/run/x.sock')).status, 400);
});

test.serial('what the file says stays, and can come back', async (t) => {
  const node = await site();
  const place = { addr_port: `127.0.0.1:${node.srv.port('web')}`, server_name: '', location_rule: '', location_name: '/file' };
  t.is((await node.upstreams('POST', '/demo/servers/', { server: '127.0.0.1:3' })).status, 201);
  const version = (await node.call('GET', '/history')).headers['etag']?.replaceAll('"', '');
  t.is((await node.call('PUT', '/dyn_loc?force=1', { type: 'del', ...place })).status, 200);
  const { status, body } = await node.call('POST', `/history/${version}/rollback`, {});
  t.is(status, 200, body);
});

test.serial('a setting has the files that its own directive names', async (t) => {
  const node = await site();
  const listens = [`127.0.0.1:${node.srv.port('web')}`];
  const body = { servers: [{ listens, serverNames: [''], locations: [{ location: '/file', accessLogs: [{ path: 'setting.log' }] }] }] };
  const answer = await node.call('PUT', '/config/http_log?dry_run=1', body);
  t.is(answer.status, 200, answer.body);
});

test.serial('requests do not leave the folder of a root', async (t) => {
  const { srv } = await site();
  t.is((await get(srv.port('web'), '/chosen/b.txt?d=site')).status, 404);
  for (const path of ['/up', '/chosen/secret.txt?d=..', '/chosen/../secret.txt', '/tried', '/index/'])
    t.notRegex((await get(srv.port('web'), path)).body, /secret/, path);
  await srv.waitForLog(/open\(\) ".*\/www\/\.\.\/secret\.txt" failed \(13: Permission denied\)/);
});

test.serial('a log with variables stays in its folder', async (t) => {
  const node = await site();
  t.is((await addLocation('access_log logs/$arg_name.log; return 204;', '/named')).status, 200);
  for (const name of ['good', '../modules/bad']) await get(node.srv.port('web'), `/named?name=${name}`);
  await node.srv.waitForLog(/is outside of its folder/);
  await waitFor('the log', () => node.srv.read('logs/good.log') !== '');
  t.is(node.srv.read('modules/bad.log'), '');
});

test.serial('the file may allow other folders', async (t) => {
  const { srv } = await site();
  const conf = readFileSync(srv.path('conf/srv.conf'), 'utf8');
  writeFileSync(srv.path('conf/srv.conf'), `api_folders /etc www;\n${conf}`);
  srv.signal('SIGHUP');
  await waitFor('the folders', async () => (await addLocation('alias /etc/;', '/x', '?dry_run=1')).status === 200);
  t.is((await addLocation('access_log logs/x.log;', '/x', '?dry_run=1')).status, 400);
  writeFileSync(srv.path('conf/srv.conf'), `api_folders /;\n${conf}`);
  srv.signal('SIGHUP');
  await waitFor('all folders', async () => (await addLocation('root $arg_x;', '/x', '?dry_run=1')).status === 200);
  t.is((await addLocation('alias conf/;', '/x', '?dry_run=1')).status, 200);
});

test.serial('folders of the server itself are allowed only by their own names', async (t) => {
  const { srv } = await site();
  const conf = readFileSync(srv.path('conf/srv.conf'), 'utf8').replace(/^api_folders .*\n/, '');
  const reload = async (folders: string, body: string): Promise<void> => {
    writeFileSync(srv.path('conf/srv.conf'), `api_folders ${folders};\n${conf}`);
    srv.signal('SIGHUP');
    await waitFor(folders, () => allowed(body));
  };
  await reload(srv.prefix, 'alias logs/;');
  for (const body of ['alias ./;', 'alias conf/;', 'alias data/;', 'alias conf/tls/;']) t.false(await allowed(body), body);
  await reload(`${srv.prefix} conf/tls`, 'alias conf/tls/;');
  for (const body of ['alias ./;', 'alias conf/;']) t.false(await allowed(body), body);
  await reload(`${srv.prefix} conf`, 'alias conf/;');
  for (const body of ['alias ./;', 'alias data/;']) t.false(await allowed(body), body);
});
