/** slice: large responses are requested and stored in parts. */
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { connectRaw, get, type HttpResponse, type RequestOptions } from '../harness/client.js';
import { shared } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const LENGTH = 10_500;
const CONTENT = Array.from({ length: LENGTH }, (_, at) => String.fromCharCode(97 + ((at * 7 + Math.floor(at / 100)) % 26))).join('');

const start = shared(async (scope) => {
  const ranges: string[] = [];
  const backend = await httpBackend(scope, (request, response) => {
    const { url = '', headers } = request;
    const range = headers.range ?? '';
    ranges.push(`${url} ${range}`);
    if (url.startsWith('/missing')) return void response.writeHead(404).end('none');
    if (url.startsWith('/plain')) return void response.end(CONTENT);
    const [, first = '0', last = '0'] = /^bytes=(\d+)-(\d+)$/.exec(range) ?? [];
    const begin = Number(first);
    if (begin >= LENGTH) return void response.writeHead(416, { 'Content-Range': `bytes */${LENGTH}` }).end();
    const end = Math.min(Number(last), LENGTH - 1);
    response.writeHead(206, {
      'Content-Range': `bytes ${begin}-${end}/${LENGTH}`,
      ETag: url.startsWith('/changes') && begin > 4000 ? '"two"' : '"one"',
      'Content-Type': 'text/x-slices',
      'X-Of-Member': 'yes',
    });
    response.end(CONTENT.slice(begin, end + 1));
  });
  const srv = await startSrv(
    scope,
    `worker_processes 1; error_log logs/error.log info; events {}
    http {
      proxy_cache_path cache keys_zone=one:1m;
      server { listen 127.0.0.1:%%PORT_web%%; gzip on; gzip_types *; gzip_min_length 0;
        add_header X-Cache $upstream_cache_status; add_header X-Own once;
        location / { slice 1000; proxy_cache one; proxy_cache_key $uri$slice_range; proxy_cache_valid 200 206 1h;
          proxy_set_header Range $slice_range; proxy_pass http://127.0.0.1:${backend.port}; }
        location /default { slice 1000; proxy_cache one; proxy_cache_valid 200 206 1h; proxy_pass http://127.0.0.1:${backend.port}; }
        location /bare { slice 4k; proxy_set_header Range $slice_range; proxy_pass http://127.0.0.1:${backend.port}; } }
    }`,
  );
  return {
    srv,
    asked: (path: string) => ranges.filter((one) => one.startsWith(`${path} `)).map((one) => one.slice(path.length + 1)),
    ask: (path: string, options: RequestOptions = {}): Promise<HttpResponse> => get(srv.port('web'), path, options),
  };
});

const range = (text: string): RequestOptions => ({ headers: { Range: text } });

for (const path of ['/whole', '/default/whole']) {
  test(`a whole response consists of its slices, which are stored: ${path}`, async (t) => {
    const { ask, asked } = await start();
    const { status, body, headers } = await ask(path);
    t.is(body, CONTENT);
    t.deepEqual(
      [status, headers['content-length'], headers['content-type'], headers['x-of-member']],
      [200, String(LENGTH), 'text/x-slices', 'yes'],
    );
    t.deepEqual([headers['x-cache'], headers['content-range'], headers['accept-ranges']], ['MISS', undefined, 'bytes']);
    t.is(asked(path).length, 11);
    t.is(asked(path)[1], 'bytes=1000-1999');
    await waitFor('the last slice', async () => (await ask(path, range('bytes=10400-'))).headers['x-cache'] === 'HIT');
    const count = asked(path).length;
    const again = await ask(path);
    t.deepEqual([again.body === CONTENT, again.headers['x-cache']], [true, 'HIT']);
    t.is(asked(path).length, count);
  });
}

test('of ranges only the slices that they are in are requested', async (t) => {
  const { ask, asked } = await start();
  const one = await ask('/part', range('bytes=2500-3200'));
  t.deepEqual([one.status, one.body], [206, CONTENT.slice(2500, 3201)]);
  t.is(one.headers['content-range'], `bytes 2500-3200/${LENGTH}`);
  t.deepEqual(asked('/part'), ['bytes=2000-2999', 'bytes=3000-3999']);
  const end = await ask('/part', range('bytes=10400-'));
  t.is(end.body, CONTENT.slice(10_400));
  t.is((await ask('/part', range('bytes=-5'))).body, CONTENT.slice(-5));
  const several = await ask('/part', range('bytes=5-9,9100-9104'));
  t.is(several.status, 206);
  t.true(several.body.includes(CONTENT.slice(5, 10)) && several.body.includes(CONTENT.slice(9100, 9105)));
  t.is((await ask('/part', range('bytes=20000-'))).status, 416);
});

test('slices are joined before they are compressed', async (t) => {
  const { srv } = await start();
  const response = await fetch(`http://127.0.0.1:${srv.port('web')}/compressed`, { headers: { 'Accept-Encoding': 'gzip' } });
  t.is(response.headers.get('content-encoding'), 'gzip');
  t.is(await response.text(), CONTENT);
});

test('conditions and HEAD are about the whole', async (t) => {
  const { ask, asked } = await start();
  t.is((await ask('/conditions', { headers: { 'If-None-Match': '"one"' } })).status, 304);
  t.is((await ask('/conditions', { headers: { 'If-Match': '"other"' } })).status, 412);
  const head = await ask('/conditions', { method: 'HEAD' });
  t.deepEqual([head.status, head.headers['content-length']], [200, String(LENGTH)]);
  t.true(asked('/conditions').every((one) => one === 'bytes=0-999'));
});

test('without a cache, and with a member that knows no ranges or has nothing', async (t) => {
  const { ask, asked } = await start();
  t.is((await ask('/bare')).body, CONTENT);
  t.deepEqual(asked('/bare'), ['bytes=0-4095', 'bytes=4096-8191', 'bytes=8192-12287']);
  t.is((await ask('/plain')).body, CONTENT);
  const missing = await ask('/missing');
  t.deepEqual([missing.status, missing.body], [404, 'none']);
});

test('slices of two responses are not joined', async (t) => {
  const { srv } = await start();
  const client = await connectRaw(t, srv.port('web'));
  client.send('GET /changes HTTP/1.1\r\nHost: a\r\n\r\n');
  const received = await client.receiveAll();
  t.true(received.length < LENGTH);
  await srv.waitForLog(/the ETag of a slice is "two", that of the first one "one"/);
});
