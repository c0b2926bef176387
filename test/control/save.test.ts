/** `POST /v1/config/save`: what the API changed, written into the configuration files. */
import { chmodSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { selfSigned } from '../harness/certificate.js';
import { get } from '../harness/client.js';
import { freePort } from '../harness/ports.js';
import { startSrv } from '../harness/srv.js';
import { errorOf } from './api-client.js';
import { startNode, type Node } from './node.js';

const CONTROL = ['dyn_upstream', 'dyn_server', 'location', 'config', 'history', 'transactions'];
const MODULES = ['dyn_upstream', 'dyn_server', 'location', 'config'];

const OPTIONS = {
  main: `api_folders conf;\n${MODULES.map((name) => `load_module modules/srv_http_${name}_module.so;`).join('\n')}`,
  controlMain: CONTROL.map((name) => `load_module modules/srv_http_${name}_api_module.so;`).join(' '),
  http: `
      # the shop
      upstream shop {
        zone shop 256k;   # room for many
        server 10.0.0.1;  # first
        server 10.0.0.2 weight=2;  # second
        # add more here
      }
      include more.conf;
      upstream kept { zone kept 256k; state data/kept.state; }
      server { listen 127.0.0.1:%%PORT_other%%; include shared.conf; }
      server { listen 127.0.0.1:%%PORT_third%%; include shared.conf; }`,
  server: `
        # everything
        location / { return 200 "file"; }
      `,
  files: {
    'conf/more.conf': '# of others\nupstream more {\n\tzone more 256k;\n\tserver 10.1.0.1;\n}\n',
    'conf/shared.conf': 'location /shared { return 204; }\n',
  },
  allowCrashes: true,
};

const conf = (node: Node): string => node.srv.read('conf/srv.conf');

async function drift(node: Node): Promise<readonly string[]> {
  return ((await node.call('GET', '/config/drift')).json as { diff: string[] }).diff;
}

async function effective(node: Node): Promise<string> {
  return (await get(node.srv.port('api'), '/api/v1/config/effective?format=text')).body;
}

const save = (node: Node, query = '', headers: Record<string, string> = {}) =>
  node.call('POST', `/config/save${query}`, undefined, headers);

async function done(t: ExecutionContext, response: ReturnType<Node['call']>): Promise<void> {
  const { status, body } = await response;
  t.true(status < 300, body);
}

test('what the API changed goes into the files, each into its block; everything else stays as it was written', async (t) => {
  const node = await startNode(t, OPTIONS);
  const [before, other] = [conf(node), node.srv.read('conf/more.conf')];
  const [web, port] = [node.srv.port('web'), await freePort(t)];
  await done(t, node.upstreams('POST', '/shop/servers', { server: '10.0.0.3', weight: 3 }));
  await done(t, node.upstreams('DELETE', '/shop/servers/0'));
  await done(t, node.upstreams('PATCH', '/shop/servers/1', { weight: 5 }));
  await done(t, node.upstreams('POST', '/more/servers', { server: '10.1.0.2' }));
  await done(t, node.upstreams('POST', '/kept/servers', { server: '10.2.0.1' }));
  await done(t, node.call('POST', '/dyn_ups', { upstream_name: 'fresh', upstream_body: 'zone fresh 64k; server 10.3.0.1' }));
  await done(t, node.call('POST', '/dyn_srv', { addr_port: `127.0.0.1:${port}`, server_name: 'a', server_body: 'return 200 "a;b"' }));
  const place = { addr_port: `127.0.0.1:${web}` };
  await done(
    t,
    node.call('POST', '/dyn_loc', { ...place, locations: [{ location_rule: '=', location_name: '/x', location_body: 'return 200' }] }),
  );
  const [running, ids] = [await effective(node), await node.list('shop')];
  const { etag } = (await node.upstreams('GET', '/shop')).headers;

  const dry = await save(node, '?dry_run=1');
  t.deepEqual((dry.json as { diff: string[] }).diff, [
    'conf/srv.conf',
    '-         server 10.0.0.1;  # first',
    '-         server 10.0.0.2 weight=2;  # second',
    '+         server 10.0.0.2 weight=5;  # second',
    '+         server 10.0.0.3:80 weight=3;',
    '+         location = /x {',
    '+             return 200;',
    '+         }',
    '+       upstream fresh {',
    '+           zone fresh 64k;',
    '+           server 10.3.0.1;',
    '+       }',
    '+       server {',
    `+           listen 127.0.0.1:${port};`,
    '+           server_name a;',
    '+           return 200 "a;b";',
    '+       }',
    'conf/more.conf',
    '+ \tserver 10.1.0.2:80;',
  ]);
  t.is(conf(node), before);

  chmodSync(node.srv.path('conf/srv.conf'), 0o640);
  const saved = await save(node);
  t.is(saved.status, 200, saved.body);
  t.deepEqual((saved.json as { files: unknown }).files, [
    { file: 'conf/srv.conf', backup: 'conf/.srv.conf.bak' },
    { file: 'conf/more.conf', backup: 'conf/.more.conf.bak' },
  ]);
  t.is(node.srv.read('conf/.srv.conf.bak'), before);
  t.is(statSync(node.srv.path('conf/srv.conf')).mode & 0o777, 0o640);
  t.is(node.srv.read('conf/more.conf'), other.replace('}\n', '\tserver 10.1.0.2:80;\n}\n'));
  t.true(
    conf(node).includes(
      '        server 10.0.0.2 weight=5;  # second\n        # add more here\n        server 10.0.0.3:80 weight=3;\n      }\n',
    ),
  );
  t.deepEqual(await drift(node), []);
  t.is(await effective(node), running);
  t.like((await save(node)).json, { files: [] });

  node.srv.signal('SIGHUP');
  await node.srv.waitForLog(/reconfigured/);
  t.is(await effective(node), running);
  node.srv.signal('SIGKILL');
  await node.srv.exited;
  // On the files as they are now; the ports are the same.
  await startSrv(t, conf(node), { prefix: node.srv.prefix });
  await node.ready();
  t.is(await effective(node), running);
  t.deepEqual(await node.list('shop'), ids);
  t.is((await node.upstreams('GET', '/shop')).headers['etag'], etag);
  t.deepEqual(await drift(node), []);
  t.is((await node.web('/x')).status, 200);
  t.notRegex(node.srv.log(), /dropped API change/);
});

test('files that were edited meanwhile are not touched; links lead to the file; what cannot be written is said', async (t) => {
  const node = await startNode(t, OPTIONS);
  const path = node.srv.path('conf/srv.conf');
  const [real, text] = [node.srv.path('real.conf'), conf(node)];
  await done(t, node.upstreams('POST', '/shop/servers', { server: '10.0.0.3' }));

  writeFileSync(path, text.replace('weight=2', 'weight=7'));
  t.like(errorOf(await save(node)), { status: 409, code: 'FileEdited' });
  writeFileSync(path, text.replace('# the shop', 'broken {'));
  t.like(errorOf(await save(node)), { status: 409, code: 'FileEdited' });
  t.is(node.srv.read('conf/.srv.conf.bak'), '');

  // Another comment is no other configuration.
  writeFileSync(real, text.replace('# the shop', '# our shop'));
  renameSync(path, `${path}.old`);
  symlinkSync(real, path);
  const stale = await save(node, '', { 'If-Match': '"1"' });
  t.like(errorOf(stale), { status: 412, code: 'VersionMismatch' });
  t.like((await save(node)).json, { files: [{ file: 'conf/srv.conf', backup: '.real.conf.bak' }] });
  t.true(lstatSync(path).isSymbolicLink());
  t.regex(readFileSync(real, 'utf8'), /# our shop[^}]*server 10\.0\.0\.3:80;/);

  // The name of the new file is taken by a folder.
  mkdirSync(node.srv.path('.real.conf.new'));
  await done(t, node.upstreams('POST', '/shop/servers', { server: '10.0.0.4' }));
  const taken = errorOf(await save(node));
  t.like(taken, { status: 409, code: 'FileNotWritable' });
  t.regex(taken.text, /^"conf\/srv\.conf" cannot be replaced \(.*let the user that srv runs as write it/);
  t.deepEqual(await drift(node), ['http / upstream shop', '+ server 10.0.0.4:80;']);

  // A file that the configuration names is gone: a start would fail.
  const ca = node.srv.path('conf/ca.pem');
  writeFileSync(ca, selfSigned('ca.example').cert);
  const verified = 'proxy_pass https://127.0.0.1:1; proxy_ssl_verify on; proxy_ssl_trusted_certificate ca.pem';
  const location = { location_rule: '', location_name: '/verified' };
  const place = { addr_port: `127.0.0.1:${node.srv.port('web')}` };
  await done(t, node.call('POST', '/dyn_loc', { ...place, locations: [{ ...location, location_body: verified }] }));
  rmSync(ca);
  const gone = errorOf(await save(node));
  t.like(gone, { status: 409, code: 'SaveImpossible' });
  t.regex(gone.text, /could not be started with the files: .*"ca\.pem": 2: No such file or directory; nothing/);
  await done(t, node.call('PUT', '/dyn_loc', { type: 'del', ...place, ...location }));

  // So is a server that others are the backup of, by API.
  await done(t, node.upstreams('POST', '/more/servers', { server: '10.1.0.2', backup: true }));
  const members = await node.members('more');
  await done(t, node.upstreams('DELETE', `/more/servers/${members.find(({ backup }) => !backup)!.id}`));
  const served = errorOf(await save(node));
  t.like(served, { status: 409, code: 'SaveImpossible' });
  t.regex(served.text, /srv could not be started with the files: no servers in upstream "more".*; nothing/);
  await done(t, node.upstreams('POST', '/more/servers', { server: '10.1.0.1' }));

  const port = node.srv.port('other');
  await done(
    t,
    node.call('PATCH', '/dyn_loc?force=1', {
      addr_port: `127.0.0.1:${port}`,
      location_rule: '',
      location_name: '/shared',
      location_body: 'return 200',
    }),
  );
  const shared = errorOf(await save(node));
  t.like(shared, { status: 409, code: 'SaveImpossible' });
  t.regex(shared.text, /included more than once/);
  writeFileSync(node.srv.path('data/kept.state'), 'hello world\n');
  for (const query of ['', '?dry_run=1']) {
    const unusable = errorOf(await save(node, query));
    t.like(unusable, { status: 409, code: 'SaveImpossible' });
    t.regex(
      unusable.text,
      /srv could not be started with the files: "hello" directive is not allowed in this file in data\/kept\.state:1; nothing was saved/,
    );
  }
  const calls = [{ method: 'POST', path: '/v1/config/save' }];
  t.like(errorOf(await node.call('POST', '/transactions', { calls })), { status: 400, code: 'NotTransactional' });
});
