/** Requests of all kinds over HTTP, and the figures that follow from what clients and members have counted. */
import { connect } from 'node:http2';
import type { ExecutionContext } from 'ava';
import { httpBackend, rawBackend } from '../harness/backends.js';
import type { Node } from '../control/node.js';
import { abort, Client, overHttp2, raw, Truth, type Counts, type Script } from './clients.js';

const CLIENTS = 6;

interface Figures {
  readonly requests: number;
  readonly attempts: number;
  readonly active: number;
  readonly failures: number;
  readonly timeouts: number;
  readonly abandoned: number;
  readonly retries: number;
  readonly received: number;
  readonly sent: number;
  readonly aborted: number;
  readonly upgrades: number;
  readonly responses: { readonly codes: Counts };
  readonly methods: Counts;
  readonly protocols: Counts;
  readonly cache: Counts;
  readonly limits: Counts;
  readonly times: { readonly count: number; readonly p50: number; readonly p999: number };
  readonly servers: Readonly<Record<string, Figures>>;
  readonly subrequests: number;
}
type Statistics = Readonly<Record<'servers' | 'upstreams' | 'locations' | 'http', Readonly<Record<string, Figures>>>>;

/** @param rounds of about 16 requests each */
export async function requestsOfAllKinds(t: ExecutionContext, rounds: number): Promise<Script> {
  /** Requests that are abandoned when a member has them, by their arguments. */
  const waiting = new Map<string, () => void>();
  const member: Counts = {};
  const backend = await httpBackend(t, (request, response) => {
    const [path = '', args = ''] = (request.url ?? '').split('?');
    member[path] = (member[path] ?? 0) + 1;
    if (path === '/forever') waiting.get(args)?.();
    else if (path === '/hang') return;
    else if (path === '/missing') response.writeHead(404, { 'content-length': '4' }).end('none');
    else if (path === '/broken') response.writeHead(500, { 'content-length': '3' }).end('bad');
    else request.resume().on('end', () => response.writeHead(200, { 'content-length': '5', 'cache-control': 'max-age=600' }).end('hello'));
  });
  const failing = await rawBackend(t, (socket) => socket.once('data', () => socket.destroy()));
  const upgrading = await rawBackend(t, (socket) => {
    socket.write('');
    socket.once('data', () => socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: upgrade\r\n\r\n'));
  });
  const truth = new Truth();
  let [http2, proxied] = [0, 0];
  const rare = Math.ceil(rounds / 10);
  const all = rounds * 4 + rare * 2;

  const run = async ({ srv }: Node): Promise<void> => {
    const rough = srv.port('rough');
    const client = async (number: number): Promise<void> => {
      const one = await Client.open(srv.port('web'), truth);
      const session = connect(`http://127.0.0.1:${rough}`);
      for (let round = number; round < rounds; round += CLIENTS) {
        await one.request('GET', '/fixed');
        await one.request('HEAD', '/fixed');
        await one.request('PUT', '/fixed', { body: 'x'.repeat(round % 50) });
        for (const [path, status] of [
          ['/', 200],
          ['/missing', 404],
          ['/broken', 500],
        ] as const) {
          t.is(await one.request('GET', path), status);
          proxied++;
        }
        await one.request('DELETE', '/');
        await one.request('GET', '/?x', { headers: 'Range: bytes=1-2\r\n' });
        proxied += 2;
        await one.request('GET', `/cached?${round}`);
        await one.request('GET', `/cached?${round}`);
        await one.request('GET', '/sub');
        await one.request('GET', '/limited');
        await overHttp2(session, '/fixed');
        await overHttp2(session, '/?h2');
        http2 += 2;
        await raw(rough, 'GET / HTTP/1.1\r\nHost: a\r\nno field\r\n\r\n');
        await raw(rough, 'GET /upgrade HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n', (text) =>
          text.includes('\r\n\r\n'),
        );
        if (round % 10 === 0) {
          await abort(rough, `/forever?${round}`, new Promise<void>((resolve) => waiting.set(String(round), resolve)));
          await raw(rough, 'GET /hang HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
        }
      }
      one.socket.destroy();
      session.close();
    };
    await Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
  };

  const isOver = (statistics: object): boolean => {
    const { exact, rough } = (statistics as Statistics).servers;
    return exact!.requests >= truth.requests && exact!.active + rough!.active === 0 && rough!.requests >= all;
  };

  const verify = async (statistics: object, node: Node): Promise<number> => {
    const { servers, upstreams, locations, http } = statistics as Statistics;
    const exact = servers['exact']!;
    t.is(exact.requests, truth.requests);
    t.deepEqual(exact.responses.codes, truth.codes);
    t.deepEqual(exact.methods, truth.methods);
    t.is(exact.received, truth.sent);
    t.is(exact.sent, truth.received);
    t.deepEqual(exact.cache, truth.cache);
    // A response may be requested again before it is in the cache.
    t.is((exact.cache['miss'] ?? 0) + (exact.cache['hit'] ?? 0), 2 * rounds);
    t.is(exact.times.count, truth.requests);
    t.is(exact.limits['req_rejected'], truth.codes[429]);
    t.is(locations['fixed']!.requests, 3 * rounds);
    t.is(http['all']!.subrequests, rounds);

    const demo = upstreams['demo']!;
    const dead = demo.servers[`127.0.0.1:${failing.port}`]!;
    const live = demo.servers[`127.0.0.1:${backend.port}`]!;
    t.is(dead.attempts, failing.connections);
    t.is(dead.failures, failing.connections);
    t.is(demo.attempts, proxied + failing.connections);
    t.is(demo.retries, failing.connections);
    t.is(exact.retries, failing.connections);
    t.is(live.attempts, proxied);
    t.deepEqual(live.responses.codes, { 200: proxied - 2 * rounds, 404: rounds, 500: rounds });

    const other = servers['rough']!;
    t.deepEqual(other.responses.codes, { 101: rounds, 200: http2, 400: rounds, 499: rare, 504: rare });
    t.is(other.protocols['HTTP/2.0'], http2);
    t.is(other.aborted, rare);
    t.is(other.upgrades, rounds);
    const alone = upstreams[`127.0.0.1:${backend.port}`]!;
    t.is(alone.timeouts, rare);
    t.is(alone.abandoned + (alone.responses.codes['499'] ?? 0), rare);
    t.is(alone.attempts, member['/cached']! + member['/hang']! + member['/forever']! + rounds);
    t.true(other.times.p999 >= 50);

    const format = (await node.call('GET', '/vts/format/json')).json as Readonly<
      Record<
        'serverZones' | 'upstreamZones' | 'cacheZones',
        Readonly<Record<string, Readonly<Record<string, unknown>> & readonly Counts[]>>
      >
    > & { readonly sharedZones: Readonly<Record<string, unknown>> };
    t.is(format.serverZones['exact']!['requestCounter'], truth.requests);
    t.is(
      format.serverZones['*']!['requestCounter'],
      Object.values(servers).reduce((sum, { requests }) => sum + requests, 0),
    );
    t.deepEqual(Object.keys(format.serverZones['exact']!), [
      'requestCounter',
      'inBytes',
      'outBytes',
      'responses',
      'requestMsecCounter',
      'requestMsec',
      'requestMsecs',
      'requestBuckets',
      'overCounts',
    ]);
    const { received: inBytes, sent: outBytes } = locations['cached']!;
    t.like(format.cacheZones['cache'], {
      maxSize: 0,
      inBytes,
      outBytes,
      responses: { miss: exact.cache['miss'], hit: exact.cache['hit'] },
    });
    t.true(Number(format.cacheZones['cache']!['usedSize']) > 0);
    t.true(Number(format.sharedZones['maxSize']) > Number(format.sharedZones['usedSize']) && Number(format.sharedZones['usedSize']) > 0);
    t.deepEqual(
      Object.fromEntries(format.upstreamZones['demo']!.map(({ server, requestCounter, maxFails }) => [server, [requestCounter, maxFails]])),
      { [`127.0.0.1:${failing.port}`]: [dead.attempts, 0], [`127.0.0.1:${backend.port}`]: [live.attempts, 0] },
    );
    return exact.requests + other.requests;
  };

  return {
    http: `
      limit_req_zone $server_name zone=limit:64k rate=1r/m;
      proxy_cache_path cache keys_zone=cache:1m;
      upstream demo { zone demo 256k; server 127.0.0.1:${failing.port} max_fails=0; server 127.0.0.1:${backend.port} max_fails=0; keepalive 8; keepalive_timeout 1s; }
      server { listen 127.0.0.1:%%PORT_rough%%; server_name rough; http2 on;
        location / { proxy_pass http://127.0.0.1:${backend.port}; }
        location /hang { proxy_pass http://127.0.0.1:${backend.port}; proxy_read_timeout 50ms; }
        location /upgrade { proxy_pass http://127.0.0.1:${upgrading.port}; proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; }
        location /fixed { return 200 fixed; } }`,
    server: `
      server_name exact;
      location / { proxy_pass http://demo; proxy_next_upstream error timeout; }
      location /fixed { status_zone fixed; return 200 fixed; }
      location /cached { status_zone cached; proxy_pass http://127.0.0.1:${backend.port}; proxy_cache cache; add_header X-Cache $upstream_cache_status; proxy_cache_key $uri$is_args$args; }
      location /sub { auth_request /allowed; stub_status; }
      location /allowed { internal; return 204; }
      location /limited { limit_req zone=limit; error_page 503 = @over; stub_status; }
      location @over { return 429; }`,
    run,
    isOver,
    verify,
  };
}
