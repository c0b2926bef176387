import { request, type IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import test, { type ExecutionContext } from 'ava';
import { httpBackend, type HttpBackend } from '../harness/backends.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { HashingSink, patternDigest, patternStream } from './byte-streams.js';
import { residentBytes } from './resident-bytes.js';

/** `/<framing>/<length>` responds with that many bytes; `?pause=<ms>` between pieces. */
async function streaming(t: ExecutionContext): Promise<HttpBackend> {
  return httpBackend(t, ({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://a');
    const [, framing = '', length = ''] = pathname.split('/');
    if (framing === 'length') response.setHeader('content-length', length);
    if (framing === 'close') response.useChunkedEncodingByDefault = false;
    pipeline(patternStream(Number(length), 40_009, Number(searchParams.get('pause') ?? 0)), response).catch(() => undefined);
  });
}

function proxying(t: ExecutionContext, port: number): Promise<Srv> {
  return startSrv(
    t,
    `events {}
    http { server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://127.0.0.1:${port}; } } }`,
  );
}

async function download(port: number, path: string, pauseMs = 0): Promise<string> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, agent: false }, resolve).once('error', reject).end();
  });
  const sink = new HashingSink(pauseMs);
  await pipeline(answer, sink);
  return sink.digest();
}

test('a response of any length arrives whole', async (t) => {
  const backend = await streaming(t);
  const srv = await proxying(t, backend.port);
  for (const framing of ['length', 'chunked', 'close']) {
    for (const length of [1, 16_000, 16_384, 65_535, 65_536, 65_537, 131_072, 1_000_003]) {
      t.is(await download(srv.port('web'), `/${framing}/${length}`), patternDigest(length), `${framing} ${length}`);
    }
  }
});

test('many responses at once do not mix', async (t) => {
  const backend = await streaming(t);
  const srv = await proxying(t, backend.port);
  const lengths = Array.from({ length: 40 }, (_, at) => 100_000 + at * 7_001);
  const framings = ['length', 'chunked', 'close'];
  const answers = lengths.map((length, at) =>
    download(srv.port('web'), `/${framings[at % 3]}/${length}?pause=${at % 2}`, at % 5 === 0 ? 1 : 0),
  );
  t.deepEqual(await Promise.all(answers), lengths.map(patternDigest));
});

test('tens of megabytes go down with little memory, to a slow client as well', async (t) => {
  const length = 60_000_000;
  const backend = await streaming(t);
  const srv = await proxying(t, backend.port);
  const port = srv.port('web');
  await download(port, `/length/${length / 4}`);
  const before = residentBytes(srv.pid);
  const answers = await Promise.all([
    download(port, `/length/${length}`),
    download(port, `/chunked/${length}`),
    download(port, `/length/${length / 4}`, 1),
    download(port, `/close/${length / 4}`, 1),
  ]);
  const grown = residentBytes(srv.pid) - before;
  t.deepEqual(answers, [patternDigest(length), patternDigest(length), patternDigest(length / 4), patternDigest(length / 4)]);
  t.true(grown < 64_000_000, `the server grew by ${grown} bytes`);
});
