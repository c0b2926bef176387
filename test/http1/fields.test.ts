import assert from 'node:assert/strict';
import test from 'ava';
import * as fc from 'fast-check';
import { TOKEN } from '../../core/net/http1/characters.js';
import { FieldFilter, fieldName, fieldValue, findField, keptFields } from '../../core/net/http1/fields.js';
import { DEFAULT_HEAD_LIMITS } from '../../core/net/http1/message-head.js';
import { parseRequestHead, RequestHead } from '../../core/net/http1/request-head.js';
import { parseResponseHead, ResponseHead } from '../../core/net/http1/response-head.js';

function parse(...lines: string[]): RequestHead {
  const head = new RequestHead();
  const text = ['GET / HTTP/1.1', 'Host: a.example', ...lines, '', ''].join('\r\n');
  parseRequestHead(head, text, { ...DEFAULT_HEAD_LIMITS, names: TOKEN });
  return head;
}

const nothing = new FieldFilter([]);

/** The lines that go on, of a request with `lines` after its Host. */
function kept(filter: FieldFilter, ...lines: string[]): string[] {
  const head = parse(...lines);
  return keptFields(head.text, head, filter).split('\r\n').slice(0, -1);
}

test('a field is found by its name in any case, and the next one after it', (t) => {
  const { text, fields, count } = parse('X-A: b', 'X-AB: c', 'x-a: d');
  t.is(findField(text, fields, count, 'x-a'), 1);
  t.is(findField(text, fields, count, 'x-a', 2), 3);
  t.is(findField(text, fields, count, 'x-a', 4), -1);
  t.is(findField(text, fields, count, 'x-'), -1);
  t.is(fieldName(text, fields, 3), 'x-a');
  t.is(fieldValue(text, fields, 3), 'd');
});

test('names that differ in more than case differ', (t) => {
  const { text, fields, count } = parse('A^: b', 'A_: c', 'A`: d');
  t.is(findField(text, fields, count, 'a~'), -1);
  t.is(findField(text, fields, count, 'a_'), 2);
  t.is(findField(text, fields, count, 'a`'), 3);
  t.deepEqual(kept(new FieldFilter(['a_', 'a~']), 'A_: b', 'A^: c'), ['Host: a.example', 'A^: c']);
});

test('fields go on as they came', (t) => {
  t.deepEqual(kept(nothing, 'X-A:b', 'x-B:  c ', 'X-A: d'), ['Host: a.example', 'X-A:b', 'x-B:  c ', 'X-A: d']);
});

test('fields of the filter do not go on, wherever they stand', (t) => {
  t.deepEqual(kept(new FieldFilter(['host']), 'A: b'), ['A: b']);
  t.deepEqual(kept(new FieldFilter(['a']), 'A: b'), ['Host: a.example']);
  t.deepEqual(kept(new FieldFilter(['a', 'host']), 'A: b'), []);
  t.deepEqual(kept(new FieldFilter(['a', 'c']), 'A: 1', 'B: 2', 'a: 3', 'C: 4', 'D: 5'), ['Host: a.example', 'B: 2', 'D: 5']);
});

test('fields of this hop do not go on', (t) => {
  const hop = [
    'Connection: keep-alive',
    'Keep-Alive: timeout=5',
    'Proxy-Connection: close',
    'TE: trailers',
    'Upgrade: h2c',
    'Transfer-Encoding: chunked',
  ];
  t.deepEqual(kept(nothing, ...hop), ['Host: a.example']);
  t.deepEqual(kept(nothing, 'Trailer: x', 'Proxy-Authorization: a', 'Content-Length: 0'), [
    'Host: a.example',
    'Trailer: x',
    'Proxy-Authorization: a',
    'Content-Length: 0',
  ]);
});

test('fields that Connection names do not go on, in whatever order they stand', (t) => {
  t.deepEqual(kept(nothing, 'X-B: 1', 'Connection: close, x-b,X-C', 'X-BC: 2', 'x-c: 3', 'X-B: 4'), ['Host: a.example', 'X-BC: 2']);
  t.deepEqual(kept(nothing, 'Connection: x-b', 'Connection: x-c', 'X-B: 1', 'X-C: 2', 'X-D: 3'), ['Host: a.example', 'X-D: 3']);
});

test('Connection cannot take out what routes or frames the message', (t) => {
  const proxies = ['X-Forwarded-For: 1', 'Forwarded: for=1', 'X-Real-IP: 1', 'Authorization: x'];
  t.deepEqual(kept(nothing, 'Connection: x-forwarded-for, forwarded, x-real-ip, authorization', ...proxies), [
    'Host: a.example',
    ...proxies,
  ]);
  t.deepEqual(kept(nothing, 'Connection: host, content-length', 'Content-Length: 5'), ['Host: a.example', 'Content-Length: 5']);
});

test('fields with an underscore are dropped, or taken where the configuration says so', (t) => {
  const text = 'GET / HTTP/1.1\r\n_a: 1\r\nHost: a.example\r\nX_Real_IP: 2\r\nContent_Length: 3\r\nX-A: 4 \r\nX-B_: 5\r\n\r\n';
  const head = new RequestHead();
  t.is(parseRequestHead(head, text, DEFAULT_HEAD_LIMITS), 0);
  t.like(head, { count: 2, contentLength: -1 });
  t.is(keptFields(text, head, nothing), 'Host: a.example\r\nX-A: 4\r\n');
  t.is(keptFields(text, head, new FieldFilter(['host'])), 'X-A: 4\r\n');
  t.is(parseRequestHead(head, text, { ...DEFAULT_HEAD_LIMITS, names: TOKEN }), 0);
  t.like(head, { count: 6, contentLength: -1 });
  t.is(keptFields(text, head, nothing), text.slice('GET / HTTP/1.1\r\n'.length, -2));
});

test('what is malformed in a field with an underscore is rejected all the same', (t) => {
  for (const line of ['a_b : c', 'a_b', '_', 'a_b: c\0', 'a_b: c\n', ' a_b: c']) {
    const head = new RequestHead();
    t.is(parseRequestHead(head, `GET / HTTP/1.1\r\nHost: a.example\r\n${line}\r\n\r\n`, DEFAULT_HEAD_LIMITS), 400, line);
  }
});

test('the fields of a response', (t) => {
  const head = new ResponseHead();
  parseResponseHead(head, 'HTTP/1.1 200 OK\r\nServer: a\r\nConnection: close\r\nDate: b\r\nX-A: c\r\n\r\n');
  t.is(keptFields(head.text, head, new FieldFilter(['server', 'date'])), 'X-A: c\r\n');
});

test('a head without fields', (t) => {
  const head = new RequestHead();
  t.is(parseRequestHead(head, 'GET / HTTP/1.0\r\n\r\n', DEFAULT_HEAD_LIMITS), 0);
  t.is(keptFields(head.text, head, nothing), '');
});

test('what goes on is what a simple filter of lines lets through', (t) => {
  const name = fc.constantFrom('A', 'a', 'Bb', 'bB', 'X-Long-Name', 'TE', 'Upgrade', 'Keep-Alive', 'Cc');
  const line = fc.tuple(name, fc.constantFrom('', '1', ' two  words ')).map(([name, value]) => `${name}: ${value}`);
  const dropped = fc.uniqueArray(fc.constantFrom('a', 'bb', 'x-long-name', 'host', 'zz'));
  t.notThrows(() =>
    fc.assert(
      fc.property(fc.array(line, { maxLength: 80 }), dropped, (lines, names) => {
        const all = new Set([...names, 'te', 'upgrade', 'keep-alive']);
        const expected = ['Host: a.example', ...lines].filter((line) => !all.has((line.split(':')[0] ?? '').toLowerCase()));
        assert.deepEqual(kept(new FieldFilter(names), ...lines), expected);
      }),
      { numRuns: 300, includeErrorInReport: true },
    ),
  );
});
