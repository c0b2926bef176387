/** A node in the middle of an incident: a slow member, errors of another, a full zone, a certificate that ends, and a change before all that. */
import { get, json } from '../harness/client.js';
import { certificateFor } from '../harness/certificate.js';
import { httpBackend } from '../harness/backends.js';
import type { Scope } from '../harness/scope.js';
import { startDashboard, type DashboardNode } from './dashboard-node.js';

/** Milliseconds that the slow member needs before its response. */
const SLOW_MS = 400;
/** Clients of the limited location: more than its zone has room for. */
const CLIENTS = 2000;
export const CHANGE = 'double the weight of the new member';

export interface Incident extends DashboardNode {
  /** Addresses of members. */
  readonly slow: string;
  readonly failing: string;
}

export async function startIncident(scope: Scope): Promise<Incident> {
  const hello = 'hello '.repeat(500);
  const good = await Promise.all(Array.from({ length: 4 }, () => httpBackend(scope, (_, response) => response.end(hello))));
  const failing = await httpBackend(scope, (request, response) => {
    response.statusCode = request.url === '/health' ? 200 : 500;
    response.end('database is away');
  });
  const slow = await httpBackend(
    scope,
    (request, response) => void setTimeout(() => response.end(hello), request.url === '/health' ? 0 : SLOW_MS),
  );
  const [one, two, three, four] = good.map(({ port }) => `127.0.0.1:${port}`);
  const started = await startDashboard(scope, {
    http: `slow_log 200ms; access_log off;
      limit_req_zone $arg_client zone=clients:32k rate=100r/s;
      upstream checkout { zone checkout 64k; server ${one}; server ${two}; server 127.0.0.1:${slow.port}; keepalive 8; }
      upstream search { zone search 64k; server ${three}; server 127.0.0.1:${failing.port} max_fails=0; server 127.0.0.1:1 max_fails=1 fail_timeout=1h; }
      upstream images { zone images 64k; server ${four}; server 127.0.0.1:2 down; }
      server { listen 127.0.0.1:%%PORT_tls%% ssl; server_name www.example; ssl_certificate site.pem; ssl_certificate_key site.key; location / { proxy_pass http://images; } }
      server { listen 127.0.0.1:%%PORT_site%%; server_name www.example;
        location / { status_zone "front page"; proxy_pass http://images; }
        location /checkout { status_zone checkout; proxy_pass http://checkout; }
        location /search { status_zone search; proxy_pass http://search; }
        location /api { limit_req zone=clients; proxy_pass http://images; }
        location /cached/ { proxy_cache pages; proxy_cache_valid 1h; proxy_pass http://images; } }`,
    files: certificateFiles(),
  });
  const port = started.node.srv.port('site');
  await change(started);
  keepBusy(scope, port);
  for (let from = 0; from < CLIENTS; from += 50)
    await Promise.all(Array.from({ length: 50 }, (_, at) => get(port, `/api?client=client-with-a-long-name-${from + at}`)));
  return { ...started, slow: `127.0.0.1:${slow.port}`, failing: `127.0.0.1:${failing.port}` };
}

function certificateFiles(): Readonly<Record<string, string>> {
  const { key, cert } = certificateFor(['www.example', 'example'], { days: [-85, 5.5] });
  return { 'conf/site.pem': cert, 'conf/site.key': key };
}

/** By a named token, with a reason. */
async function change({ node, tokens }: DashboardNode): Promise<void> {
  const { status } = await json(
    node.srv.port('closed'),
    'PATCH',
    '/api/v1/upstream_api/http/upstreams/checkout/servers/2',
    { weight: 2 },
    { authorization: `Bearer ${tokens.writer}`, 'change-message': CHANGE },
  );
  if (status !== 200) throw new Error(`the change failed: ${status}`);
}

/** Some requests a second to each location, one after the other for each. */
function keepBusy(scope: Scope, port: number): void {
  const paths = ['/', '/', '/checkout', '/checkout', '/search?q=shoes', '/cached/logo.png', '/api?client=hurried', '/nowhere'];
  const timers = paths.map((path, at) =>
    setInterval(() => void get(port, path, { headers: { host: 'www.example' } }).catch(() => undefined), 90 + at * 17),
  );
  scope.teardown(() => timers.forEach((timer) => clearInterval(timer)));
}
