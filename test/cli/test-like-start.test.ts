/** What keeps a server from starting, `-t` says as well. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { get } from '../harness/client.js';
import { runSrv, startSrv } from '../harness/srv.js';
import { tempFolder } from '../harness/temp.js';

const HTTP = 'events {} http { server { listen 127.0.0.1:%%PORT_web%%; return 200 "ok"; } }';

for (const [what, conf, message] of [
  [
    'an address that this machine does not have',
    'events {} http { server { listen 203.0.113.9:8080; return 200; } }',
    /bind\(\) to 203\.0\.113\.9:8080 failed \(99: /,
  ],
  [
    'a unix socket in a folder that does not exist',
    'events {} http { server { listen unix:nodir/run.sock; return 200; } }',
    /bind\(\) to unix:.*\/nodir\/run\.sock failed \(/,
  ],
  [
    'a folder for temporary files that cannot be made',
    'events {} http { server { listen 127.0.0.1:%%PORT_web%%; proxy_temp_path /proc/t; location / { proxy_pass http://127.0.0.1:1; } } }',
    /mkdir\(\) "\/proc\/t" failed \(/,
  ],
  ['a working directory that does not exist', `working_directory /nodir; ${HTTP}`, /chdir\("\/nodir"\) failed \(2: .*\) in .*:1/],
] as const) {
  test(`${what}: rejected by a start, and by -t in the same words`, async (t) => {
    for (const args of [['-t'], ['-g', 'daemon off;']]) {
      const { code, stderr } = await runSrv(t, args, conf);
      t.is(code, 1, args.join(' '));
      t.regex(stderr, message, args.join(' '));
    }
  });
}

test('-t beside the running server finds its addresses in use, and nothing wrong with that; the server keeps its socket file', async (t) => {
  const conf = `events {} http { server { listen 127.0.0.1:%%PORT_web%%; listen unix:run.sock; return 200 "ok"; } }`;
  const srv = await startSrv(t, conf);
  const { code } = await runSrv(t, ['-t'], undefined, { prefix: srv.prefix });
  t.is(code, 0);
  t.is((await get(srv.port('web'), '/')).body, 'ok');
});

test('-t leaves what is in the way of a unix socket where it is', async (t) => {
  const prefix = tempFolder(t);
  writeFileSync(join(prefix, 'run.sock'), 'left by a server that died');
  const { code } = await runSrv(t, ['-t'], 'events {} http { server { listen unix:run.sock; return 200; } }', { prefix });
  t.is(code, 0);
  t.notThrows(() => writeFileSync(join(prefix, 'run.sock'), '', { flag: 'r+' }));
});

test('a data folder that cannot be made is rejected, it does not hang', async (t) => {
  const conf = `helper broker modules/srv_helper_broker_module.so conf/broker.conf; data_folder /proc/data; ${HTTP}`;
  const { code, stderr } = await runSrv(t, ['-g', 'daemon off;'], conf, { files: { 'conf/broker.conf': '' } });
  t.is(code, 1);
  t.regex(stderr, /\/proc\/data/);
});
