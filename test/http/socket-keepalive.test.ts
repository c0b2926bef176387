/** `proxy_socket_keepalive` and its relatives: whether the system probes connections to members. */
import type { Socket } from 'node:net';
import test from 'ava';
import { httpsBackend, rawBackend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { connectRaw } from '../harness/client.js';
import { probesIn } from '../harness/keepalive-probes.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

test('connections to members are probed where the directive says so', async (t) => {
  const opened: Socket[] = [];
  const member = await rawBackend(t, (socket) => void opened.push(socket));
  const secure = await httpsBackend(t, selfSigned('a.example'), (request) => void opened.push(request.socket));
  const pass = `127.0.0.1:${member.port}`;
  const srv = await startSrv(
    t,
    `load_module modules/srv_http_proxy_connect_module.so;
    events {} http {
      proxy_send_lowat 8k;
      fastcgi_send_lowat 8k;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        proxy_socket_keepalive on;
        grpc_socket_keepalive on;
        fastcgi_socket_keepalive on;
        location /off { proxy_socket_keepalive off; proxy_pass http://${pass}; }
        location /grpc-off { grpc_socket_keepalive off; grpc_pass ${pass}; }
        location /fastcgi-off { fastcgi_socket_keepalive off; fastcgi_pass ${pass}; }
        location /on { proxy_pass http://${pass}; }
        location /tls { proxy_pass https://127.0.0.1:${secure.port}; }
        location /two { proxy_http_version 2; proxy_pass http://${pass}; }
        location /grpc { grpc_pass ${pass}; }
        location /fastcgi { fastcgi_pass ${pass}; }
      }
      server { listen 127.0.0.1:%%PORT_tunnel%%; tunnel_socket_keepalive on; tunnel_pass ${pass}; }
    }`,
  );
  /** Seconds until the member of a request is probed. */
  const ask = async (name: string, text: string, on: boolean): Promise<number | undefined> => {
    const client = await connectRaw(t, srv.port(name));
    const before = opened.length;
    client.send(text);
    await waitFor('a connection to the member', () => opened.length > before);
    const member = opened[before];
    const probes = (): number | undefined => probesIn(member?.remotePort ?? 0, member?.localPort ?? 0);
    if (on) return waitFor('the option to be set', probes);
    // The first bytes leave after the option would be set.
    await waitFor('the request', () => (member?.bytesRead ?? 0) > 0);
    return probes();
  };
  for (const path of ['/on', '/tls', '/two', '/grpc', '/fastcgi']) t.true(((await ask('web', get(path), true)) ?? 0) > 600, path);
  t.true(((await ask('tunnel', 'CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n', true)) ?? 0) > 600);
  for (const path of ['/off', '/grpc-off', '/fastcgi-off']) t.is(await ask('web', get(path), false), undefined, path);
});
