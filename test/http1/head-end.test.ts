import assert from 'node:assert/strict';
import test from 'ava';
import * as fc from 'fast-check';
import { HeadEnd } from '../../core/net/http1/head-end.js';
import { DEFAULT_HEAD_LIMITS, HEAD_TOO_LARGE } from '../../core/net/http1/message-head.js';

const HEAD = 'GET / HTTP/1.1\r\nHost: a.example\r\n\r\n';

function find(search: HeadEnd, text: string, start = 0, limits = DEFAULT_HEAD_LIMITS): number {
  return search.find(Buffer.from(text, 'latin1'), start, limits);
}

test('finds the end behind the empty line and leaves what follows', (t) => {
  t.is(find(new HeadEnd(), HEAD), HEAD.length);
  t.is(find(new HeadEnd(), `${HEAD}body\r\n\r\n`), HEAD.length);
});

test('finds the end wherever it lies', (t) => {
  for (let padding = 0; padding < 9; padding++) {
    const head = `GET /${'a'.repeat(padding)} HTTP/1.1\r\n\r\n`;
    t.is(find(new HeadEnd(), `${head}\r\n\r\n`), head.length);
  }
});

test('goes on where it stopped, byte by byte, at another offset of another buffer', (t) => {
  const search = new HeadEnd();
  for (let length = 1; length < HEAD.length; length++) t.is(find(search, HEAD.slice(0, length)), 0, `${length} bytes`);
  t.is(find(search, `other${HEAD}`, 5), 5 + HEAD.length);
});

test('starts after the empty lines before a request, however they arrive', (t) => {
  const search = new HeadEnd();
  const input = `\r\n\r\n${HEAD}`;
  for (let length = 1; length < input.length; length++) t.is(find(search, input.slice(0, length)), 0);
  t.is(find(search, input), input.length);
  t.is(search.start, 4);
});

test('skips no empty lines before a response', (t) => {
  const search = new HeadEnd(0);
  t.is(find(search, '\r\n\r\nHTTP/1.1 200 OK\r\n\r\n'), 4);
  t.is(search.start, 0);
});

test('after reset it looks for the next head', (t) => {
  const search = new HeadEnd();
  t.is(find(search, HEAD + HEAD), HEAD.length);
  search.reset();
  t.is(find(search, HEAD + HEAD, HEAD.length), 2 * HEAD.length);
  t.is(search.start, HEAD.length);
});

test('rejects what cannot become a head without waiting for its end', (t) => {
  for (const text of ['GET / HTTP/1.1\rX', '\n'.repeat(5), '\rG', 'G\0', 'GET /\x7f', '\x16\x03\x01']) {
    t.is(find(new HeadEnd(), text), -400, JSON.stringify(text));
  }
  const search = new HeadEnd();
  t.is(find(search, 'GET / HTTP/1.1\r\nA: b\r'), 0);
  t.is(find(search, 'GET / HTTP/1.1\r\nA: b\r\r'), -400);
  t.is(search.reason, 'invalid header line');
});

test('the request line has its own limit', (t) => {
  const limits = { ...DEFAULT_HEAD_LIMITS, line: 20 };
  t.is(find(new HeadEnd(), 'a'.repeat(20), 0, limits), 0);
  t.is(find(new HeadEnd(), 'a'.repeat(21), 0, limits), -414);
  t.is(find(new HeadEnd(), 'GET / HTTP/1.1\r\nA: 345678901234567890', 0, limits), 0);
});

test('a field line has its own limit, also when it comes in pieces', (t) => {
  const limits = { ...DEFAULT_HEAD_LIMITS, field: 20 };
  const search = new HeadEnd();
  t.is(find(search, 'GET / HTTP/1.1\r\nA: b\r\nC: 45678901234567890', 0, limits), 0);
  t.is(find(search, 'GET / HTTP/1.1\r\nA: b\r\nC: 456789012345678901', 0, limits), -400);
  t.is(search.code, HEAD_TOO_LARGE);
});

test('the whole head has a limit, complete or not', (t) => {
  const limits = { ...DEFAULT_HEAD_LIMITS, total: 40 };
  const search = new HeadEnd();
  t.is(find(search, HEAD, 0, limits), HEAD.length);
  t.is(find(search, 'GET / HTTP/1.1\r\nA: b\r\nC: d\r\nE: f\r\nG: h\r\nI: j\r\n\r\n', 0, limits), -400);
  t.is(search.code, HEAD_TOO_LARGE);
  t.is(find(new HeadEnd(), 'GET / HTTP/1.1\r\nA: b\r\nC: d\r\nE: f\r\nG: h\r\nI: j\r\n', 0, limits), -400);
});

test('a complete head over the limit is blamed on its request line if that is too long', (t) => {
  const search = new HeadEnd();
  t.is(find(search, `GET /${'a'.repeat(40_000)} HTTP/1.1\r\n\r\n`), -414);
});

test('a line may end with LF alone, and so may the empty line', (t) => {
  for (const head of [HEAD.replaceAll('\r', ''), HEAD.replace('\r', ''), HEAD.replace(/\r\n$/, '\n')]) {
    const search = new HeadEnd();
    for (let length = 1; length < head.length; length++)
      t.is(find(search, head.slice(0, length)), 0, JSON.stringify(head.slice(0, length)));
    const input = Buffer.from(`${head}body\r\n\r\n`);
    t.true(search.find(input, 0, DEFAULT_HEAD_LIMITS) >= head.length);
    t.is(search.findByLines(input, 0, DEFAULT_HEAD_LIMITS), head.length);
    t.is(search.text(Buffer.from(head), head.length), HEAD);
  }
});

test('the end is where the first empty line is, however the input is cut', (t) => {
  const text = fc.array(fc.constantFrom('\r\n', '\r\n', '\r', '\n', 'a', 'bcd'), { maxLength: 20 }).map((parts) => `a${parts.join('')}`);
  t.notThrows(() =>
    fc.assert(
      fc.property(text, fc.array(fc.nat({ max: 40 }), { maxLength: 4 }), (text, cuts) => {
        const empty = /\n\r?\n/.exec(text);
        const bareCr = text.search(/\r[^\n]/);
        const end = empty === null ? 0 : empty.index + empty[0].length;
        const search = new HeadEnd(0);
        for (const cut of [...cuts, text.length].sort((a, b) => a - b)) {
          let found = find(search, text.slice(0, cut));
          // A head with CRLF CRLF in it was found by that; where it ends by its lines is asked by the parser.
          if (found > 0) found = search.findByLines(Buffer.from(text.slice(0, cut), 'latin1'), 0, DEFAULT_HEAD_LIMITS);
          if (found === 0) continue;
          assert.ok(found === -400 ? bareCr >= 0 && (end === 0 || bareCr < end) : found === end);
          return;
        }
        assert.equal(end, 0);
      }),
      { numRuns: 3000, includeErrorInReport: true },
    ),
  );
});
