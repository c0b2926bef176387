import test from 'ava';
import { startSrv } from '../harness/srv.js';
import { SECRET, challenged, cookieOf, jsonChallenge, statusWith, work } from './captcha-client.js';

test('what was solved before kill -9 is not valid after it; the cookie is', async (t) => {
  const conf = `load_module modules/srv_http_captcha_module.so; events {}
    http {
      captcha_zone $arg_k zone=c:1m; captcha_secret '${SECRET}'; captcha_mode pow;
      server { listen 127.0.0.1:%%PORT_web%%; location / { captcha on; captcha_limit_rate c 1; stub_status; } }
    }`;
  const first = await startSrv(t, conf, { allowCrashes: true });
  const challenge = await jsonChallenge(first.port('web'), '/?k=killed');
  const cookie = cookieOf(await work(first.port('web'), challenge));
  await first.stop('SIGKILL');
  const port = (await startSrv(t, conf, { prefix: first.prefix })).port('web');
  const again = await work(port, challenge);
  t.deepEqual([again.status, again.body.trim()], [403, '{"result":"gone"}']);
  await challenged(port, '/?k=killed');
  t.is(await statusWith(port, '/?k=killed', cookie), 200);
  t.is((await work(port, await jsonChallenge(port, '/?k=another'))).status, 200, 'one of this start is valid');
});
