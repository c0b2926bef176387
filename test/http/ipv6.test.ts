import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import test from 'ava';
import { startSrv } from '../harness/srv.js';

const available = Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === '::1'));

(available ? test : test.skip)('IPv6 on both sides', async (t) => {
  const backend = createServer((request, response) => response.end(`${request.headers.host}`));
  await new Promise<void>((resolve) => backend.listen(0, '::1', resolve));
  t.teardown(() => backend.close());
  const { port } = backend.address() as AddressInfo;
  const srv = await startSrv(
    t,
    `events {}
    http {
      upstream group { server [::1]:${port}; }
      server {
        listen [::1]:%%PORT_web%%;
        location / { return 200 "$remote_addr $server_addr $host"; }
        location /group { proxy_pass http://group; }
        location /direct { proxy_pass http://[::1]:${port}; }
        location /allowed { allow ::1; deny all; proxy_pass http://group; }
        location /network { deny ::/64; proxy_pass http://group; }
      }
    }`,
  );
  const ask = (path: string): Promise<string> =>
    new Promise((resolve, reject) => {
      let received = '';
      const socket = connect(srv.port('web'), '::1', () => socket.write(`GET ${path} HTTP/1.0\r\nHost: [::1]:80\r\n\r\n`));
      socket.setEncoding('latin1');
      socket.on('data', (data: string) => (received += data));
      socket.once('error', reject);
      socket.once('close', () => resolve(received.split('\r\n\r\n')[1] ?? ''));
    });
  t.is(await ask('/'), '::1 ::1 [::1]');
  t.is(await ask('/group'), 'group');
  t.is(await ask('/direct'), `[::1]:${port}`);
  t.is(await ask('/allowed'), 'group');
  t.regex(await ask('/network'), /403 Forbidden/);
});
