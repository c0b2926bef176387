import assert from 'node:assert/strict';
import test from 'ava';
import * as fc from 'fast-check';
import { CHUNK_END, ChunkedDecoder, encodeChunkHead, LAST_CHUNK, LAST_CHUNK_HEAD } from '../../core/net/http1/chunked.js';

class Collector {
  text = '';
  pieces: Buffer[] = [];

  onData(input: Buffer, start: number, end: number): void {
    this.text += input.latin1Slice(start, end);
    this.pieces.push(input.subarray(start, end));
  }
}

interface Outcome {
  text: string;
  trailers: string;
  /** Bytes used of all pieces together. */
  used: number;
  done: boolean;
  failed: boolean;
  reason: string;
}

/** Feeds the pieces as a connection does: until the body is done or malformed. */
function decode(decoder: ChunkedDecoder, pieces: Buffer[]): Outcome {
  const sink = new Collector();
  let used = 0;
  for (const piece of pieces) {
    if (decoder.done || decoder.failed) break;
    used += decoder.decode(piece, 0, piece.length, sink);
  }
  const { done, failed, reason, trailers } = decoder;
  return { text: sink.text, trailers, used, done, failed, reason };
}

/** Cuts `input` at the given points. */
function cut(input: Buffer, points: number[]): Buffer[] {
  const ends = [...points.map((point) => point % (input.length + 1)), input.length].sort((a, b) => a - b);
  return ends.map((end, i) => input.subarray(ends[i - 1] ?? 0, end));
}

/** What a well-formed body means, worked out on the whole text with regular expressions. Undefined: it is not well-formed or not complete. */
function model(text: string): { text: string; trailers: string; used: number } | undefined {
  let body = '';
  let at = 0;
  for (;;) {
    const line = /^([0-9a-f]{1,32})(?:[\t ]*;[\t\x20-\x7e\x80-\xff]{0,1024})?\r\n/i.exec(text.slice(at));
    if (line === null) return undefined;
    at += line[0].length;
    const size = Number.parseInt(line[1] ?? '', 16);
    if (size > Number.MAX_SAFE_INTEGER) return undefined;
    if (size === 0) break;
    if (text.slice(at + size, at + size + 2) !== '\r\n') return undefined;
    body += text.slice(at, at + size);
    at += size + 2;
  }
  const trailers = /^((?:[\w!#$%&'*+.^`|~-]+:[\t\x20-\x7e\x80-\xff]*\r\n)*)\r\n/.exec(text.slice(at));
  if (trailers === null) return undefined;
  return { text: body, trailers: trailers[1] ?? '', used: at + trailers[0].length };
}

const data = fc.string({ unit: fc.constantFrom('a', '\r', '\n', '0', ';', '\xff'), maxLength: 40 });
const extension = fc.constantFrom('', '', '', ';a', ';a=b;c="d e"', ';', ' ;a', '\t ; a = b');
const chunk = fc
  .tuple(
    data.filter((text) => text !== ''),
    fc.constantFrom('', '', '0', '00', '0'.repeat(20)),
    extension,
  )
  .map(([text, zeros, extension]) => `${zeros}${text.length.toString(16)}${extension}\r\n${text}\r\n`);
const trailers = fc.array(fc.constantFrom('A: b\r\n', 'X-Long:\r\n', 'c:\td \r\n'), { maxLength: 3 });
const body = fc
  .tuple(fc.array(chunk, { maxLength: 6 }), fc.constantFrom('0', '000'), extension, trailers)
  .map(([chunks, zero, extension, trailers]) => `${chunks.join('')}${zero}${extension}\r\n${trailers.join('')}\r\n`);
const cuts = fc.array(fc.nat(), { maxLength: 12 });

test('a body decodes as the model says, however it is cut', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(body, fc.constantFrom('', 'GET / HTTP/1.1\r\n'), cuts, (text, next, points) => {
        const outcome = decode(new ChunkedDecoder(), cut(Buffer.from(text + next, 'latin1'), points));
        assert.deepEqual(outcome, { ...model(text + next), done: true, failed: false, reason: '' } as Outcome);
        assert.equal(outcome.used, text.length);
      }),
      { numRuns: 2000, includeErrorInReport: true },
    ),
  );
});

test('a damaged body is rejected or waited for exactly when the model does not take it, however it is cut', (t) => {
  const damage = fc.tuple(
    fc.nat(),
    fc.constantFrom('', '\r', '\n', '\r\n', ' ', ';', '-', '0', 'g', ':', '\0', '\x7f'),
    fc.nat({ max: 2 }),
  );
  t.notThrows(() =>
    fc.assert(
      fc.property(body, damage, cuts, (text, [at, inserted, deleted], points) => {
        const point = at % (text.length + 1);
        const damaged = Buffer.from(text.slice(0, point) + inserted + text.slice(point + deleted), 'latin1');
        const whole = decode(new ChunkedDecoder(), [damaged]);
        assert.deepEqual(decode(new ChunkedDecoder(), cut(damaged, points)), whole);
        const expected = model(damaged.latin1Slice());
        assert.equal(whole.done, expected !== undefined);
        if (expected !== undefined) assert.partialDeepStrictEqual(whole, expected);
      }),
      { numRuns: 3000, includeErrorInReport: true },
    ),
  );
});

test('one byte at a time', (t) => {
  const text = '5;a=b\r\nhello\r\n0a\r\n0123456789\r\n0\r\nX-A: b\r\n\r\n';
  const pieces = Array.from(text, (c) => Buffer.from(c, 'latin1'));
  t.like(decode(new ChunkedDecoder(), pieces), { text: 'hello0123456789', trailers: 'X-A: b\r\n', used: text.length, done: true });
});

test('the data is not copied', (t) => {
  const input = Buffer.from('5\r\nhello\r\n0\r\n\r\n');
  const sink = new Collector();
  new ChunkedDecoder().decode(input, 0, input.length, sink);
  t.is(sink.pieces[0]?.buffer, input.buffer);
  input.write('J', 3);
  t.is(sink.pieces[0]?.latin1Slice(), 'Jello');
});

test('only the range is read', (t) => {
  const input = Buffer.from('xx5\r\nhelloxx');
  const sink = new Collector();
  const decoder = new ChunkedDecoder();
  t.is(decoder.decode(input, 2, 10, sink), 10);
  t.is(sink.text, 'hello');
  t.is(decoder.length, 5);
  t.false(decoder.done || decoder.failed);
});

test('after reset it decodes the next body, whatever came of the one before', (t) => {
  const decoder = new ChunkedDecoder();
  for (const before of ['3\r\nabc\r\n0\r\nA: b\r\n\r\n', '5;abc', '5\r\nhel', '5\r\nhello\r', 'x', '0\r\nA: b', '0\r\nHost: a\r\n\r\n']) {
    decode(decoder, [Buffer.from(before)]);
    decoder.reset();
    t.like(
      decode(decoder, [Buffer.from('2\r\nhi\r\n0\r\n\r\n')]),
      { text: 'hi', trailers: '', used: 12, done: true, failed: false },
      before,
    );
    decoder.reset();
  }
});

test('a malformed body stays malformed', (t) => {
  const decoder = new ChunkedDecoder();
  t.true(decode(decoder, [Buffer.from('x')]).failed);
  const good = Buffer.from('2\r\nhi\r\n0\r\n\r\n');
  const sink = new Collector();
  t.is(decoder.decode(good, 0, good.length, sink), 0);
  t.is(sink.text, '');
});

test('many small chunks are fine, much framing for little data is not', (t) => {
  const small = Buffer.from('1\r\na\r\n'.repeat(50_000));
  t.like(decode(new ChunkedDecoder(), [small]), { failed: false, used: small.length });
  const padded = Buffer.from(`1;${'a'.repeat(100)}\r\na\r\n`.repeat(1000));
  t.like(decode(new ChunkedDecoder(), [padded]), { failed: true, reason: 'too much chunk framing' });
});

test('trailers that would frame or route the message are rejected', (t) => {
  for (const line of [
    'Content-Length: 5',
    'transfer-encoding: chunked',
    'HOST: a',
    'Connection: close',
    'TE: a',
    'Upgrade: a',
    'Keep-Alive: a',
  ]) {
    const outcome = decode(new ChunkedDecoder(), [Buffer.from(`0\r\nA: b\r\n${line}\r\n\r\n`)]);
    t.like(outcome, { done: false, failed: true, reason: 'forbidden trailer field' }, line);
  }
});

test('trailers have a limit that does not wait for their end', (t) => {
  const line = Buffer.from(`A: ${'b'.repeat(1000)}\r\n`);
  const outcome = decode(new ChunkedDecoder(), [Buffer.from('0\r\n'), ...Array.from({ length: 20 }, () => line)]);
  t.like(outcome, { failed: true, reason: 'too long trailer section' });
});

test('what is encoded can be decoded', (t) => {
  const pieces = ['a', 'b'.repeat(16), 'c'.repeat(70_000)];
  const encoded = pieces.map((piece) => encodeChunkHead(piece.length) + piece + CHUNK_END).join('');
  t.like(decode(new ChunkedDecoder(), [Buffer.from(encoded + LAST_CHUNK)]), { text: pieces.join(''), done: true });
  t.like(decode(new ChunkedDecoder(), [Buffer.from(`${encoded}${LAST_CHUNK_HEAD}A: b\r\n\r\n`)]), { trailers: 'A: b\r\n', done: true });
});
