import test from 'ava';
import { rawBackend } from '../harness/backends.js';
import { exchange } from '../harness/client.js';
import { shared } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';

/** Responses by path; each connection is closed after one, as a response without a length needs it. */
const RESPONSES: Readonly<Record<string, string>> = {
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

const server = shared(async (scope) => {
  const backend = await rawBackend(scope, (socket) => {
    socket.on('data', (chunk) => {
      const [, path = ''] = chunk.toString().split(' ');
      socket.end(RESPONSES[path.split('?')[0] ?? ''] ?? 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n');
    });
  });
  return startSrv(
    scope,
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
});

const CHUNKED = '200 OK|Connection: close|Transfer-Encoding: chunked|5\r\nhello\r\n0\r\n\r\n';
const LENGTH = '200 OK|Connection: close|Content-Length: 5|hello';
const CLOSED = '200 OK|Connection: close|hello';
const CLOSE = 'Connection: close\r\n';

for (const [what, line, expected, fields = CLOSE] of [
  ['a length', 'GET /length HTTP/1.1', LENGTH],
  ['chunks', 'GET /chunked HTTP/1.1', CHUNKED.replace('5\r\nhello', '3\r\nhel\r\n2\r\nlo')],
  ['an end by closing', 'GET /until-close HTTP/1.1', CHUNKED],
  ['HTTP/1.0 of the member', 'GET /1.0 HTTP/1.1', CHUNKED],
  ['interim responses, which are not passed on', 'GET /interim HTTP/1.1', LENGTH],
  ['bytes behind the response, which belong to nobody', 'GET /two HTTP/1.1', LENGTH],
  ['a length for HTTP/1.0', 'GET /length HTTP/1.0', LENGTH],
  ['chunks for HTTP/1.0', 'GET /chunked HTTP/1.0', CLOSED],
  ['an end by closing for HTTP/1.0', 'GET /until-close HTTP/1.0', CLOSED],
  ['an end by closing for HTTP/1.0 with keep-alive', 'GET /until-close HTTP/1.0', CLOSED, 'Connection: keep-alive\r\n'],
  ['chunks with chunked_transfer_encoding off', 'GET /plain/chunked HTTP/1.1', CLOSED, ''],
  ['an empty body with a length', 'GET /empty HTTP/1.1', '200 OK|Connection: close|Content-Length: 0|'],
  ['an empty body in chunks', 'GET /empty-chunked HTTP/1.1', '200 OK|Connection: close|Transfer-Encoding: chunked|0\r\n\r\n'],
  ['an empty body that ends by closing', 'GET /nothing HTTP/1.1', '200 OK|Connection: close|Transfer-Encoding: chunked|0\r\n\r\n'],
  ['an empty body that ends by closing for HTTP/1.0', 'GET /nothing HTTP/1.0', '200 OK|Connection: close|'],
  ['204', 'GET /204 HTTP/1.1', '204 No Content|Connection: close|'],
  ['304', 'GET /304 HTTP/1.1', '304 Not Modified|Connection: close|Content-Length: 50|'],
  ['HEAD with a length', 'HEAD /length HTTP/1.1', '200 OK|Connection: close|Content-Length: 5|'],
  ['HEAD in chunks', 'HEAD /chunked HTTP/1.1', '200 OK|Connection: close|'],
  ['HEAD that ends by closing', 'HEAD /until-close HTTP/1.1', '200 OK|Connection: close|'],
  ['a reason of its own', 'GET /reason HTTP/1.1', '200 All Fine|Connection: close|Content-Length: 0|'],
  ['a longer reason', 'GET /451 HTTP/1.1', '451 Unavailable For Legal Reasons|Connection: close|Content-Length: 0|'],
  ['no reason', 'GET /no-reason HTTP/1.1', '200 OK|Connection: close|Content-Length: 0|'],
] as const) {
  test(`a response with ${what}`, async (t) => {
    const received = await exchange(t, (await server()).port('web'), `${line}\r\nHost: a\r\n${fields}\r\n`);
    const [head = '', ...body] = received.split('\r\n\r\n');
    const [status = '', ...lines] = head.split('\r\n');
    const framing = lines.filter((field) => /^(content-length|transfer-encoding|connection):/i.test(field));
    t.is([status.replace('HTTP/1.1 ', ''), ...framing.sort(), body.join('\r\n\r\n')].join('|'), expected);
  });
}
