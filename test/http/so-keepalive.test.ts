import { readFileSync } from 'node:fs';
import test from 'ava';
import { selfSigned } from '../harness/certificate.js';
import { connectRaw } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** 127.0.0.1 and a port as proc(5) shows them. */
const hex = (port: number): string => `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;

/** Seconds until the system probes the accepted connection of this port and client; undefined: it does not (proc(5), `tr` and `tm->when`). */
function probesIn(port: number, client: number): number | undefined {
  const line = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .find((each) => each.includes(`${hex(port)} ${hex(client)} 01`));
  const [, ticks] = /\b02:([0-9A-F]{8})\b/.exec(line ?? '') ?? [];
  return ticks === undefined ? undefined : parseInt(ticks, 16) / 100;
}

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
