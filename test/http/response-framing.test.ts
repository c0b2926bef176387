import test from 'ava';
import { rawBackend } from '../harness/backends.js';
import { exchange } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

/** Responses by path; each connection is closed after one, as a response without a length needs it. */
const ANSWERS: Readonly<Record<string, string>> = {
  '/length': 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello',
  '/chunked': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nX-Trailer: a\r\n\r\n',
  '/until-close': 'HTTP/1.1 200 OK\r\n\r\nhello',
  '/1.0': 'HTTP/1.0 200 OK\r\n\r\nhello',
  '/empty': 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
  '/empty-chunked': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  '/nothing': 'HTTP/1.1 200 OK\r\n\r\n',
  '/204': 'HTTP/1.1 204 No Content\r\nX-A: b\r\n\r\n',
  '/304': 'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\nContent-Length: 50\r\n\r\n',
  '/interim': 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello',
  '/two': 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong',
  '/reason': 'HTTP/1.1 200 All Fine\r\nContent-Length: 0\r\n\r\n',
  '/451': 'HTTP/1.1 451 Unavailable For Legal Reasons\r\nContent-Length: 0\r\n\r\n',
  '/no-reason': 'HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n',
};

test('responses of every framing reach clients of both versions', async (t) => {
  const backend = await rawBackend(t, (socket) => {
    socket.on('data', (chunk) => {
      const [, path = ''] = chunk.toString().split(' ');
      socket.end(ANSWERS[path.split('?')[0] ?? ''] ?? 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n');
    });
  });
  const srv = await startSrv(
    t,
    `events {}
    http {
      proxy_pass_header X-Accel-Redirect;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { proxy_pass http://127.0.0.1:${backend.port}; }
        location /plain/ { proxy_pass http://127.0.0.1:${backend.port}/; chunked_transfer_encoding off; }
      }
    }`,
  );
  /** Status line, the fields that frame, and the body. */
  const ask = async (line: string, fields = 'Connection: close\r\n'): Promise<string> => {
    const received = await exchange(t, srv.port('web'), `${line}\r\nHost: a\r\n${fields}\r\n`);
    const [head = '', ...body] = received.split('\r\n\r\n');
    const [status = '', ...lines] = head.split('\r\n');
    const framing = lines.filter((line) => /^(content-length|transfer-encoding|connection):/i.test(line));
    return [status.replace('HTTP/1.1 ', ''), ...framing.sort(), body.join('\r\n\r\n')].join('|');
  };
  const CHUNKED = '200 OK|Connection: close|Transfer-Encoding: chunked|5\r\nhello\r\n0\r\n\r\n';
  const LENGTH = '200 OK|Connection: close|Content-Length: 5|hello';
  const CLOSED = '200 OK|Connection: close|hello';

  t.is(await ask('GET /length HTTP/1.1'), LENGTH);
  t.is(await ask('GET /chunked HTTP/1.1'), CHUNKED.replace('5\r\nhello', '3\r\nhel\r\n2\r\nlo'));
  t.is(await ask('GET /until-close HTTP/1.1'), CHUNKED);
  t.is(await ask('GET /1.0 HTTP/1.1'), CHUNKED);
  t.is(await ask('GET /interim HTTP/1.1'), LENGTH, 'interim answers are not passed on');
  t.is(await ask('GET /two HTTP/1.1'), LENGTH, 'what follows an answer is nobody’s');

  t.is(await ask('GET /length HTTP/1.0'), LENGTH);
  t.is(await ask('GET /chunked HTTP/1.0'), CLOSED);
  t.is(await ask('GET /until-close HTTP/1.0'), CLOSED);
  t.is(await ask('GET /until-close HTTP/1.0', 'Connection: keep-alive\r\n'), CLOSED, 'its end can only be told by closing');
  t.is(await ask('GET /plain/chunked HTTP/1.1', ''), CLOSED, 'chunked_transfer_encoding off');

  t.is(await ask('GET /empty HTTP/1.1'), '200 OK|Connection: close|Content-Length: 0|');
  t.is(await ask('GET /empty-chunked HTTP/1.1'), '200 OK|Connection: close|Transfer-Encoding: chunked|0\r\n\r\n');
  t.is(await ask('GET /nothing HTTP/1.1'), '200 OK|Connection: close|Transfer-Encoding: chunked|0\r\n\r\n');
  t.is(await ask('GET /nothing HTTP/1.0'), '200 OK|Connection: close|');
  t.is(await ask('GET /204 HTTP/1.1'), '204 No Content|Connection: close|');
  t.is(await ask('GET /304 HTTP/1.1'), '304 Not Modified|Connection: close|Content-Length: 50|');

  t.is(await ask('HEAD /length HTTP/1.1'), '200 OK|Connection: close|Content-Length: 5|');
  t.is(await ask('HEAD /chunked HTTP/1.1'), '200 OK|Connection: close|');
  t.is(await ask('HEAD /until-close HTTP/1.1'), '200 OK|Connection: close|');

  t.regex(await ask('GET /reason HTTP/1.1'), /^200 All Fine\|/, 'the reason is passed on');
  t.regex(await ask('GET /451 HTTP/1.1'), /^451 Unavailable For Legal Reasons\|/);
  t.regex(await ask('GET /no-reason HTTP/1.1'), /^200 OK\|/);
});
