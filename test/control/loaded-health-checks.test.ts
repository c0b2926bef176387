import test from 'ava';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { member } from './checked-members.js';

const MODULE = 'load_module modules/srv_http_health_check_module.so;';

test('a module that a reload loads checks the members that are there, and those that come with it', async (t) => {
  const [bad, good, late] = await Promise.all(['bad', 'good', 'late'].map((name) => member(t, name)));
  bad!.status = 500;
  late!.status = 500;
  const conf = (main: string, group: string): string => `error_log logs/error.log notice; ${main} events {}
    http {
      upstream group { zone group 64k; server 127.0.0.1:${bad!.port}; server 127.0.0.1:${good!.port}; ${group} }
      server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://group; } }
    }`;
  const srv = await startSrv(t, conf('', ''));
  await srv.configure(
    conf(MODULE, `server 127.0.0.1:${late!.port}; health_check mandatory; health_check_http interval=50ms { uri /ping; }`),
  );
  srv.signal('SIGHUP');
  for (const { port } of [bad!, late!]) await srv.waitForLog(new RegExp(`peer is unhealthy.*127\\.0\\.0\\.1:${port}`));
  for (let n = 0; n < 6; n++) t.is((await get(srv.port('web'), '/')).body, 'good');
});
