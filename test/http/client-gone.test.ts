import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { connectRaw, get, type RawConnection } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { patternStream } from './byte-streams.js';

const LEAVES: Readonly<Record<string, (connection: RawConnection) => void>> = {
  end: ({ socket }) => socket.end(),
  reset: ({ socket }) => socket.resetAndDestroy(),
};

for (const [how, leave] of Object.entries(LEAVES)) {
  test(`a client that goes away frees the connection to the member: ${how}`, async (t) => {
    const gone: string[] = [];
    const backend = await httpBackend(t, (request, response) => {
      response.once('close', () => gone.push(request.url ?? ''));
      if (request.url === '/large') patternStream(200_000_000).pipe(response);
      else if (request.url === '/begun') response.write('begun');
    });
    const srv = await startSrv(
      t,
      `error_log logs/error.log info;
      events {}
      http {
        log_format short "$remote_addr $server_addr:$server_port $request_uri $status $upstream_response_time";
        access_log logs/access.log short;
        server {
          listen 127.0.0.1:%%PORT_web%%;
          listen %%PORT_any%%;
          location / { proxy_pass http://127.0.0.1:${backend.port}; }
          location /stream { proxy_pass http://127.0.0.1:${backend.port}; proxy_request_buffering off; }
          location /status { access_log off; stub_status; }
        }
      }`,
    );
    const open = async (bytes: string): Promise<RawConnection> => {
      const connection = await connectRaw(t, srv.port('web'));
      connection.send(bytes);
      return connection;
    };
    const asked = (path: string): Promise<true> => waitFor(`${path} at the member`, () => backend.requests.some(({ url }) => url === path));

    // An address that stands for any is known by its sockets alone.
    const any = await connectRaw(t, srv.port('any'));
    any.send('GET /any HTTP/1.1\r\nHost: a\r\n\r\n');
    await asked('/any');
    leave(any);
    const waiting = await open('GET /waiting HTTP/1.1\r\nHost: a\r\n\r\n');
    await asked('/waiting');
    leave(waiting);
    const begun = await open('GET /begun HTTP/1.1\r\nHost: a\r\n\r\n');
    await begun.receive(/begun/);
    leave(begun);
    const large = await open('GET /large HTTP/1.1\r\nHost: a\r\n\r\n');
    await large.receive(/200 OK/);
    leave(large);
    const uploading = await open('POST /stream HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nhalf');
    await asked('/stream');
    leave(uploading);
    const collecting = await open('POST /collected HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n');
    await collecting.receive(/100 Continue/);
    collecting.send('half');
    leave(collecting);

    await waitFor('the end of all of them', () => gone.length === 5);
    t.deepEqual([...gone].sort(), ['/any', '/begun', '/large', '/stream', '/waiting']);
    await waitFor('no connection but the one that asks', async () => {
      const { body } = await get(srv.port('web'), '/status');
      return body.startsWith('Active connections: 1 ') && body.includes('Reading: 0 Writing: 1 Waiting: 0');
    });
    const closedToo = 'client prematurely closed connection, so upstream connection is closed too while';
    await srv.waitForLog(new RegExp(`\\[info\\].*${closedToo} reading response header from upstream, .*GET /waiting`));
    await srv.waitForLog(new RegExp(`${closedToo} reading upstream, .*GET /begun`));
    await srv.waitForLog(/client prematurely closed connection, .*POST \/stream/);
    await srv.waitForLog(/client prematurely closed connection, .*POST \/collected/);
    const logged = (port: string, rest: string): Promise<unknown> =>
      srv.waitForLog(new RegExp(`^127\\.0\\.0\\.1 127\\.0\\.0\\.1:${srv.port(port)} ${rest} \\d\\.\\d{3}$`, 'm'), 'logs/access.log');
    await logged('web', '/waiting 499');
    await logged('web', '/begun 200');
    await logged('any', '/any 499');
    t.false(
      backend.requests.some(({ url }) => url === '/collected'),
      'half a request is none',
    );
  });
}

test('proxy_ignore_client_abort: the member may finish', async (t) => {
  const outcome: string[] = [];
  const backend = await httpBackend(t, (request, response) => {
    const timer = setTimeout(() => response.end(request.url === '/large' ? 'x'.repeat(1_000_000) : 'done'), 300);
    response.once('finish', () => outcome.push(`${request.url} finished`));
    response.once('close', () => {
      clearTimeout(timer);
      if (!response.writableFinished) outcome.push(`${request.url} aborted`);
    });
  });
  const srv = await startSrv(
    t,
    `events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%%;
        proxy_ignore_client_abort on;
        location / { proxy_pass http://127.0.0.1:${backend.port}; }
        location /status { stub_status; }
      }
    }`,
  );
  const reset = await connectRaw(t, srv.port('web'));
  reset.send('GET /reset HTTP/1.1\r\nHost: a\r\n\r\n');
  await waitFor('the request', () => backend.requests.length === 1);
  reset.socket.resetAndDestroy();
  await waitFor('its end', () => outcome.includes('/reset finished'));
  const large = await connectRaw(t, srv.port('web'));
  large.send('GET /large HTTP/1.1\r\nHost: a\r\n\r\n');
  await waitFor('the request', () => backend.requests.length === 2);
  large.socket.resetAndDestroy();
  await waitFor('its end', () => outcome.length === 2);
  const half = await connectRaw(t, srv.port('web'));
  half.socket.end('GET /half HTTP/1.1\r\nHost: a\r\n\r\n', 'latin1');
  t.regex(await half.receiveAll(), /\r\n\r\ndone$|done\r\n0\r\n\r\n$/, 'a client that only closed its side is answered');
  await waitFor('no connection but the one that asks', async () =>
    (await get(srv.port('web'), '/status')).body.startsWith('Active connections: 1 '),
  );
  t.pass();
});
