import test, { type ExecutionContext } from 'ava';
import { connectRaw, exchange } from '../harness/client.js';
import { startSrv, type Srv } from '../harness/srv.js';

const LINE = '"$request" $status [$uri] [$request_method] [$request_uri] [$server_protocol] [$request_completion]';

function start(t: ExecutionContext): Promise<Srv> {
  return startSrv(
    t,
    `error_log logs/error.log info;
    events {}
    http {
      log_format line '${LINE}';
      access_log logs/access.log line;
      client_header_timeout 2s;
      server { listen 127.0.0.1:%%PORT_web%%; return 200 ok; }
    }`,
  );
}

test('what is logged of a request that is rejected', async (t) => {
  const srv = await start(t);
  const port = srv.port('web');
  const logged = async (bytes: string): Promise<string> => {
    const before = srv.read('logs/access.log').length;
    await exchange(t, port, bytes);
    await srv.waitForLog(new RegExp(`^[^]{${before}}.+\n`), 'logs/access.log');
    return srv.read('logs/access.log').slice(before, -1);
  };
  t.is(
    await logged('TRACE /a%20b?c HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'),
    '"TRACE /a%20b?c HTTP/1.1" 405 [/a b] [TRACE] [/a%20b?c] [HTTP/1.1] [OK]',
  );
  t.is(
    await logged('GET /a%20b?c HTTP/1.1\r\nHost: a\r\nX A: b\r\n\r\n'),
    '"GET /a%20b?c HTTP/1.1" 400 [/a b] [GET] [/a%20b?c] [HTTP/1.1] [OK]',
  );
  t.is(
    await logged('GET http://b.example/a HTTP/1.0\r\n : b\r\n\r\n'),
    '"GET http://b.example/a HTTP/1.0" 400 [/a] [GET] [/a] [HTTP/1.0] [OK]',
  );
  t.is(await logged('GET /no-host HTTP/1.1\r\n\r\n'), '"GET /no-host HTTP/1.1" 400 [/no-host] [GET] [/no-host] [HTTP/1.1] [OK]');
  t.is(await logged(`HEAD /long HTTP/1.1\r\nX: ${'a'.repeat(9000)}`), '"HEAD /long HTTP/1.1" 400 [/long] [HEAD] [/long] [HTTP/1.1] [OK]');
  t.is(await logged('NONSENSE\r\n\r\n'), '"NONSENSE" 400 [-] [-] [-] [-] [OK]');
  t.is(await logged('GET a HTTP/1.1\r\n\r\n'), '"GET a HTTP/1.1" 400 [-] [-] [-] [-] [OK]');
});

test('what is logged of a head that never gets whole', async (t) => {
  const srv = await start(t);
  const port = srv.port('web');
  t.is(await exchange(t, port, 'GET /late HTTP/1.1\r\nHost: a\r\n'), '', 'nobody gets an answer');
  await srv.waitForLog(
    /\[info\].* client timed out \(110: Connection timed out\) while reading client request headers, .*request: "GET \/late HTTP\/1\.1"/,
  );
  await exchange(t, port, 'GET /la');
  await srv.waitForLog(
    /\[info\].* client timed out \(110: Connection timed out\) while reading client request line, .*request: "GET \/la"/,
  );
  await exchange(t, port, '');
  const second = await connectRaw(t, port);
  second.send('GET /first HTTP/1.1\r\nHost: a\r\n\r\n');
  await second.receive(/ok$/);
  second.send('GET /gone HTTP/1.1\r\nHost: a\r\n');
  await srv.waitForLog(/\/first/, 'logs/access.log');
  second.socket.end();
  await second.receiveAll();
  const reset = await connectRaw(t, port);
  reset.send('GET /reset HTTP/1.1\r\nHost: a\r\n');
  reset.socket.resetAndDestroy();
  (await connectRaw(t, port)).socket.end();
  await srv.waitForLog(
    /\[info\].* client prematurely closed connection while reading client request headers, .*request: "GET \/gone HTTP\/1\.1"/,
  );
  await exchange(t, port, 'GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  await srv.waitForLog(/\/last/, 'logs/access.log');
  const lines = srv.read('logs/access.log').trimEnd().split('\n');
  t.deepEqual(
    lines.filter((line) => !line.includes('/reset')),
    [
      '"GET /late HTTP/1.1" 408 [/late] [GET] [/late] [HTTP/1.1] []',
      '"GET /la" 408 [-] [-] [-] [-] []',
      '"GET /first HTTP/1.1" 200 [/first] [GET] [/first] [HTTP/1.1] [OK]',
      '"GET /gone HTTP/1.1" 400 [/gone] [GET] [/gone] [HTTP/1.1] []',
      '"GET /last HTTP/1.1" 200 [/last] [GET] [/last] [HTTP/1.1] [OK]',
    ],
  );
});
