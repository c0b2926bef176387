/** A forward proxy in several forms, and clients that send CONNECT. */
import type { ExecutionContext } from 'ava';
import { rawBackend, type Backend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { connectRaw, exchange, type RawConnection } from '../harness/client.js';
import type { Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';

/** Of `user:secret`, made with `openssl passwd -apr1`. */
const HASH = '$apr1$saltsalt$LrttParrLPdxvgutaSXWJ0';

export interface Site {
  readonly srv: Srv;
  readonly echo: Backend;
}

export async function startProxies(t: Scope): Promise<Site> {
  const echo = await rawBackend(t, (socket) => socket.on('data', (chunk) => socket.write(chunk)));
  const { cert, key } = selfSigned('proxy.example');
  const srv = await startSrv(
    t,
    `load_module modules/srv_http_proxy_connect_module.so;
    error_log logs/error.log info;
    events {}
    http {
      log_format tunnel '$status $remote_user $connect_host $connect_port $connect_addr '
        '$proxy_connect_resolve_time $proxy_connect_connect_time $proxy_connect_first_byte_time '
        '[$upstream_addr $upstream_bytes_sent $upstream_bytes_received] $request_completion';
      access_log logs/access.log tunnel;
      limit_conn_zone $server_port zone=tunnels:32k;
      server {
        listen 127.0.0.1:%%PORT_open%%;
        http2 on;
        add_header X-Proxy srv;
        proxy_connect;
        proxy_connect_allow all;
        proxy_connect_destination allow 127.0.0.0/8 ::1;
        location / { proxy_pass http://$http_host; }
      }
      server {
        listen 127.0.0.1:%%PORT_closed%%;
        proxy_connect;
        proxy_connect_allow 1-65535;
        proxy_connect_destination deny 127.0.0.9;
        proxy_connect_destination allow 127.0.0.8/29;
        location / { return 200 "a request"; }
      }
      server {
        listen 127.0.0.1:%%PORT_default%%;
        proxy_connect;
        error_page 403 @passed;
        error_page 502 @page;
        location @passed { proxy_pass http://127.0.0.1:${echo.port}; }
        location @page { return 502 "no such server"; }
      }
      server {
        listen 127.0.0.1:%%PORT_private%%;
        proxy_connect;
        proxy_connect_allow all;
        proxy_connect_destination allow all;
        auth_basic proxy;
        auth_basic_user_file users;
        location / { proxy_pass http://$http_host; }
      }
      server {
        listen 127.0.0.1:%%PORT_short%%;
        proxy_connect;
        proxy_connect_allow all;
        proxy_connect_destination allow all;
        proxy_connect_connect_timeout 60s;
        proxy_connect_data_timeout 2s;
        proxy_connect_bind 127.0.0.5;
        proxy_connect_response "HTTP/1.1 201 Ready\\r\\nX-Via: $connect_addr\\r\\n\\r\\n";
        limit_conn tunnels 1;
        if ($connect_host = "127.0.0.4") { set $proxy_connect_connect_timeout 300ms; }
        if ($connect_host = forbidden.example) { return 410; }
      }
      server {
        listen 127.0.0.1:%%PORT_fixed%%;
        proxy_connect;
        proxy_connect_address 127.0.0.1:${echo.port};
      }
      server {
        listen 127.0.0.1:%%PORT_secure%% ssl;
        ssl_certificate proxy.pem;
        ssl_certificate_key proxy.key;
        proxy_connect;
        proxy_connect_allow all;
        proxy_connect_destination allow 127.0.0.0/8;
      }
      map $request_port $is_allowed { ${echo.port} 1; }
      server {
        listen 127.0.0.1:%%PORT_tunnel%%;
        tunnel_pass;
        access_log off;
        tunnel_read_timeout 30s;
        tunnel_bind 127.0.0.6;
        tunnel_next_upstream error;
        tunnel_socket_keepalive on;
        proxy_connect_destination allow 127.0.0.0/8;
        if ($is_allowed != 1) { return 502; }
      }
      server { listen 127.0.0.1:%%PORT_tunnelclosed%%; tunnel_pass $host:${echo.port}; }
      server { listen 127.0.0.1:%%PORT_tunnelfixed%%; tunnel_pass localhost:${echo.port}; access_log off; }
      server { listen 127.0.0.1:%%PORT_plain%%; location / { return 200 plain; } }
    }`,
    { files: { 'conf/users': `user:${HASH}\n`, 'conf/proxy.pem': cert, 'conf/proxy.key': key } },
  );
  return { srv, echo };
}

export const connectTo = (target: string, fields = ''): string => `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${fields}\r\n`;

export async function tunnel(t: ExecutionContext, port: number, target: string, early = '', fields = ''): Promise<RawConnection> {
  const connection = await connectRaw(t, port);
  connection.send(connectTo(target, fields) + early);
  await connection.receive(/^HTTP\/1\.1 20\d [^]*?\r\n\r\n/);
  return connection;
}

export async function statusOf(t: ExecutionContext, port: number, target: string, fields = ''): Promise<number> {
  return Number((await exchange(t, port, connectTo(target, fields))).slice(9, 12));
}
