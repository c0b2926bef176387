import test from 'ava';
import { errorLine, escapeControls } from '../../core/log/error-line.js';
import type { HttpRequest } from '../../core/contract/http.js';

const NOW = new Date(2026, 10, 21, 7, 5, 9);

function request(values: Partial<HttpRequest> & { upstreamUrl?: string } = {}): HttpRequest {
  const headers: Readonly<Record<string, string>> = { host: 'shop.test' };
  return {
    connection: { id: 45, remoteAddress: '10.1.2.3' },
    method: 'GET',
    requestUri: '/a?b',
    protocol: 'HTTP/1.1',
    requestId: 'abc',
    header: (name: string) => headers[name],
    variable: (name: string) => (name === 'server_name' ? 'shop' : undefined),
    ...values,
  } as HttpRequest;
}

test('a line without a request', (t) => {
  t.is(errorLine('notice', 'start', '12#3', undefined, NOW), '2026/11/21 07:05:09 [notice] 12#3: start');
});

test('a line about a request', (t) => {
  t.is(
    errorLine('error', 'broken', '12#3', request(), NOW),
    '2026/11/21 07:05:09 [error] 12#3: *45 broken, client: 10.1.2.3, server: shop, request: "GET /a?b HTTP/1.1", host: "shop.test", request_id: abc',
  );
});

test('with an upstream in use', (t) => {
  const line = errorLine('error', 'broken', '1#0', request({ upstreamUrl: 'http://10.0.0.1:80/a' }), NOW);
  t.true(line.includes('request: "GET /a?b HTTP/1.1", upstream: "http://10.0.0.1:80/a", host: "shop.test"'), line);
});

test('a client that has sent no request line yet', (t) => {
  const line = errorLine('info', 'timed out', '1#0', request({ method: '', header: () => undefined }), NOW);
  t.true(line.endsWith('timed out, client: 10.1.2.3, server: shop, request_id: abc'), line);
});

test('a request cannot end its quotes or its line', (t) => {
  const line = errorLine('error', 'x', '1#0', request({ requestUri: '/"\r\n2026/11/21 [emerg] forged' }), NOW);
  t.false(/[\r\n]/.test(line));
  t.true(line.includes('request: "GET /\\x22\\x0D\\x0A2026/11/21 [emerg] forged HTTP/1.1"'), line);
});

const bytes = (text: string): string => Buffer.from(text).toString('latin1');

test('bytes of a client are the characters that they are in UTF-8, and shown one by one where they are none', (t) => {
  const line = errorLine('error', 'x', '1#0', request({ requestUri: bytes('/caf\u00e9/\u6f22'), header: () => bytes('\u00fc.test') }), NOW);
  t.true(line.includes('request: "GET /caf\u00e9/\u6f22 HTTP/1.1", host: "\u00fc.test"'), line);
  const other = errorLine('error', 'x', '1#0', request({ requestUri: '/\xff\xe9"' }), NOW);
  t.true(other.includes('request: "GET /\\xFF\\xE9\\x22 HTTP/1.1"'), other);
});

test('control characters of every kind are shown, everything else stays', (t) => {
  t.is(escapeControls('a\0b\x1b[31m\x7f\x9b\u2028é漢'), 'a\\x00b\\x1B[31m\\x7F\\x9B\\u2028é漢');
});
