/** Slow requests by API: the last ones, with their phases. */
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { waitFor } from '../harness/wait.js';
import { startNode } from './node.js';

interface Slow {
  readonly total: number;
  readonly lost: number;
  readonly requests: readonly {
    readonly uri: string;
    readonly server: string;
    readonly phases: Readonly<Record<string, number>>;
    readonly attempts: readonly { readonly address: string; readonly upstream: string }[];
  }[];
}

test('/v1/slow_log has the last slow requests of all workers, the newest first, without a file', async (t) => {
  const backend = await httpBackend(
    t,
    (request, response) => void setTimeout(() => response.end('hello'), request.url === '/fast' ? 0 : 120),
  );
  const node = await startNode(t, {
    main: 'load_module modules/srv_http_slow_log_module.so;',
    controlMain: 'load_module modules/srv_http_slow_log_api_module.so;',
    http: `slow_log 100ms; upstream demo { zone demo 64k; server 127.0.0.1:${backend.port}; }`,
    server:
      'server_name shop.example; location / { proxy_pass http://demo; } location /fast { slow_log 1h; proxy_pass http://demo; } location /other { slow_log off; proxy_pass http://demo; }',
  });
  const read = async (query = ''): Promise<Slow> => (await node.call('GET', `/slow_log${query}`)).json as Slow;
  t.deepEqual(await read(), { total: 0, lost: 0, requests: [] });
  for (const path of ['/fast', '/one', '/other', '/two?b=%C3%A9', `/${'long'.repeat(1500)}`]) await get(node.srv.port('web'), path);
  const found = await waitFor('three requests', async () => {
    const slow = await read();
    return slow.total === 3 ? slow : undefined;
  });
  t.deepEqual(
    found.requests.map(({ uri }) => uri.slice(0, 12)),
    ['/longlonglon', '/two?b=%C3%A', '/one'],
  );
  t.is(found.requests[0]?.uri.length, 2048);
  const [newest] = found.requests;
  t.like(newest, { server: 'shop.example', attempts: [{ address: `127.0.0.1:${backend.port}`, upstream: 'demo' }] });
  t.true(newest!.phases['first_byte']! >= 100);
  t.is((await read('?limit=1')).requests.length, 1);
  t.is((await node.call('GET', '/slow_log?limit=0')).status, 400);
});

test('more slow requests than can be kept are counted', async (t) => {
  const node = await startNode(t, {
    main: 'load_module modules/srv_http_slow_log_module.so;',
    controlMain: 'load_module modules/srv_http_slow_log_api_module.so;',
    workers: 1,
    http: 'slow_log 0ms;',
    server: 'location / { return 200; }',
  });
  const ask = (): Promise<unknown> => Promise.all(Array.from({ length: 100 }, () => get(node.srv.port('web'), '/')));
  await waitFor('lost ones', async () => {
    await ask();
    const { lost, requests, total } = (await node.call('GET', '/slow_log?limit=500')).json as Slow;
    return lost > 0 && requests.length + lost === total;
  });
  t.pass();
});
