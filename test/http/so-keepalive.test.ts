import test from 'ava';
import { selfSigned } from '../harness/certificate.js';
import { connectRaw } from '../harness/client.js';
import { probesIn } from '../harness/keepalive-probes.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

test('so_keepalive holds for plain listeners, for TLS and for what Linux counts in', async (t) => {
  const { cert, key } = selfSigned('a.example');
  const srv = await startSrv(
    t,
    `events {} http {
      ssl_certificate a.pem; ssl_certificate_key a.key;
      server { listen 127.0.0.1:%%PORT_off%%; listen 127.0.0.1:%%PORT_on%% so_keepalive=on; listen 127.0.0.1:%%PORT_times%% so_keepalive=10m:20s:3;
        listen 127.0.0.1:%%PORT_tls%% ssl so_keepalive=5m::; } }`,
    { files: { 'conf/a.pem': cert, 'conf/a.key': key } },
  );
  const idle = async (name: string): Promise<number | undefined> => {
    const client = await connectRaw(t, srv.port(name));
    const local = client.socket.localPort ?? 0;
    if (name !== 'off') await waitFor('the option to be set', () => probesIn(srv.port(name), local) !== undefined);
    else await new Promise((resolve) => setTimeout(resolve, 300));
    return probesIn(srv.port(name), local);
  };
  const [times = 0, tls = 0, on = 0] = [await idle('times'), await idle('tls'), await idle('on')];
  t.true(times <= 600 && times > 540, `${times}`);
  t.true(tls <= 300 && tls > 240, `${tls}`);
  t.true(on > 600, 'two hours');
  t.is(await idle('off'), undefined);
});
