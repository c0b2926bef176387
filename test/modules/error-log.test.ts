import test from 'ava';
import { exchange, get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

test('lines about a request say who asked for what, where', async (t) => {
  const srv = await startSrv(
    t,
    `error_log logs/error.log info;
    events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%%;
        server_name s.example;
        location / { proxy_pass http://127.0.0.1:9; }
        location /denied { deny all; proxy_pass http://127.0.0.1:9; }
        location /quiet { error_log logs/quiet.log crit; proxy_pass http://127.0.0.1:9; }
        location /own { error_log logs/own.log error; proxy_pass http://127.0.0.1:9; }
      }
    }`,
  );
  const port = srv.port('web');
  await get(port, '/a?b', { headers: { host: 'h.example' } });
  await srv.waitForLog(
    /^\d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d \[error\] \d+#\d+: \*\d+ connect\(\) failed \(111: Connection refused\) while connecting to upstream, client: 127\.0\.0\.1, server: s\.example, request: "GET \/a\?b HTTP\/1\.1", upstream: "http:\/\/127\.0\.0\.1:9\/a\?b", host: "h\.example", request_id: [0-9a-f]{32}$/m,
  );
  await get(port, '/denied');
  await srv.waitForLog(
    /\[error\] .* access forbidden by rule, client: 127\.0\.0\.1, server: s\.example, request: "GET \/denied HTTP\/1\.1", host:/,
  );
  await exchange(t, port, 'NONSENSE "\x01\r\n\r\n');
  await srv.waitForLog(
    /\[info\] .* client sent invalid .* while reading client request line, client: 127\.0\.0\.1, server: s\.example, request: "NONSENSE \\x22\\x01"/,
  );
  await get(port, '/own');
  await srv.waitForLog(/request: "GET \/own/, 'logs/own.log');
  await get(port, '/quiet');
  await get(port, '/last');
  await srv.waitForLog(/GET \/last/);
  t.notRegex(srv.log(), /GET \/(own|quiet)/);
  t.is(srv.read('logs/quiet.log'), '');
});
