import test, { type ExecutionContext } from 'ava';
import { rawBackend } from '../harness/backends.js';
import { connectRaw, exchange, get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { malformedRequests, type MalformedRequest } from '../http1/malformed-requests.js';

/** The status of the one response that comes before the connection is closed. */
async function answerTo(t: ExecutionContext, port: number, request: MalformedRequest): Promise<string> {
  const received = await exchange(t, port, request.bytes);
  const [, status = 'no answer'] = /^HTTP\/1\.1 (\d{3}) [^]*?\r\nConnection: close\r\n/.exec(received) ?? [];
  return received.split('HTTP/1.1 ').length === 2 ? status : `not one answer: ${received}`;
}

async function answersTo(t: ExecutionContext, port: number): Promise<string[]> {
  const answers = malformedRequests.map(async (request) => `${request.name}: ${await answerTo(t, port, request)}`);
  return Promise.all(answers);
}

const EXPECTED = malformedRequests.map(({ name, status }) => `${name}: ${status}`);

test('a malformed request is refused, its connection closed, and nothing of it reaches a backend', async (t) => {
  let received = '';
  const backend = await rawBackend(t, (socket) => socket.on('data', (chunk) => (received += chunk.toString('latin1'))));
  const srv = await startSrv(
    t,
    `events {} http { server { listen 127.0.0.1:%%PORT_web%%;
      location / { proxy_pass http://127.0.0.1:${backend.port}; }
      location /alive { return 200 alive; }
    } }`,
  );
  t.deepEqual(await answersTo(t, srv.port('web')), EXPECTED);
  t.is(received, '');
  t.is(backend.connections, 0);
  t.is((await get(srv.port('web'), '/alive')).body, 'alive');
});

test('a malformed body is rejected where nobody reads it, too', async (t) => {
  const srv = await startSrv(t, 'events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { return 200 taken; } } }');
  t.deepEqual(await answersTo(t, srv.port('web')), EXPECTED);
  const later = await connectRaw(t, srv.port('web'));
  later.send('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
  await later.receive(/taken$/);
  later.send('zz\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n');
  t.is((await later.receiveAll()).split('HTTP/1.1 ').length, 2, 'the answer is out: there is no second one');
});

test('of a body that is passed on as it comes, a backend gets no whole request and no second one', async (t) => {
  const received: string[] = [];
  let open = 0;
  const backend = await rawBackend(t, (socket) => {
    const at = received.push('') - 1;
    open++;
    socket.once('close', () => open--);
    socket.on('data', (chunk) => (received[at] += chunk.toString('latin1')));
  });
  const srv = await startSrv(
    t,
    `events {} http { server { listen 127.0.0.1:%%PORT_web%%;
      location / { proxy_pass http://127.0.0.1:${backend.port}; proxy_request_buffering off; }
      location /alive { return 200 alive; }
    } }`,
  );
  const streamOf = (path: string): string | undefined => received.find((bytes) => bytes.startsWith(`POST ${path} HTTP/1.1\r\n`));
  const requests = malformedRequests.filter((request) => request.in === 'body');
  await Promise.all(
    requests.map(async ({ name, bytes, status }, n) => {
      const [head = '', ...rest] = bytes.replace('POST / ', `POST /${n} `).split(/(?<=\r\n\r\n)/);
      const client = await connectRaw(t, srv.port('web'));
      client.send(head);
      await waitFor(`the head of ${name} at the backend`, () => streamOf(`/${n}`)?.includes('\r\n\r\n'));
      client.send(rest.join(''));
      const answer = await client.receiveAll();
      t.true(answer.startsWith(`HTTP/1.1 ${status} `) && answer.split('HTTP/1.1 ').length === 2, `${name}: ${answer}`);
    }),
  );
  await waitFor('the end of every stream', () => open === 0);
  t.is(received.length, requests.length);
  for (const stream of received) {
    t.is(stream.split(/HTTP\/1\.1\r\n/).length, 2, stream);
    t.regex(stream, /^POST \/\d+ HTTP\/1\.1\r\n[^]*Transfer-Encoding: chunked\r\n/);
    t.notRegex(stream, /0\r\n\r\n$/, 'the last chunk would make it whole');
  }
  t.is((await get(srv.port('web'), '/alive')).body, 'alive');
});
