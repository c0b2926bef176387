import assert from 'node:assert/strict';
import test from 'ava';
import * as fc from 'fast-check';
import { FrameReader } from '../../core/net/http2/frame-reader.js';
import { HpackDecoder } from '../../core/net/http2/hpack-decoder.js';
import { HpackEncoder } from '../../core/net/http2/hpack-encoder.js';
import { Http2Error } from '../../core/net/http2/protocol.js';
import { RequestFields } from '../../core/http/client/h2/request-fields.js';
import { addedField, field, frame, integer } from './frames.js';

/** What a reader makes of bytes that come in these pieces: its frames, and the error that ended it. */
function read(pieces: readonly Buffer[]): readonly string[] {
  const reader = new FrameReader();
  const found: string[] = [];
  try {
    for (const piece of pieces) {
      const lent = Buffer.from(piece);
      reader.read(lent, {
        onFrame: (type, flags, stream, payload) => found.push(`${type} ${flags} ${stream} ${payload.toString('hex')}`) > 0,
      });
      // The memory of a read is used again.
      lent.fill(0xaa);
    }
  } catch (error) {
    assert(error instanceof Http2Error, String(error));
    found.push(error.message);
  }
  return found;
}

function split(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}

const byte = fc.integer({ min: 0, max: 255 });
const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const cuts = fc.array(fc.nat(), { maxLength: 20 });
const latin1 = (max: number): fc.Arbitrary<string> => fc.uint8Array({ maxLength: max }).map((array) => Buffer.from(array).latin1Slice());

const anyFrame = fc.record({ type: byte, flags: byte, stream: fc.integer({ min: 0, max: 0x7fff_ffff }), payload: latin1(60) });

test('frames arrive as they were sent, wherever their bytes are split', (t) => {
  const property = fc.property(fc.array(anyFrame, { maxLength: 8 }), cuts, (frames, at) => {
    const sent = Buffer.from(frames.map(({ type, flags, stream, payload }) => frame(type, flags, stream, payload)).join(''), 'latin1');
    const expected = frames.map(
      ({ type, flags, stream, payload }) => `${type} ${flags} ${stream} ${Buffer.from(payload, 'latin1').toString('hex')}`,
    );
    assert.deepEqual(read(split(sent, at)), expected);
  });
  t.notThrows(() => fc.assert(property, { numRuns: 1000 }));
});

test('any bytes are frames or an error, the same wherever they are split', (t) => {
  const property = fc.property(bytes, cuts, (sent, at) => {
    assert.deepEqual(read(split(sent, at)), read([sent]));
    assert.deepEqual(read(split(sent, [...sent.keys()])), read([sent]));
  });
  t.notThrows(() => fc.assert(property, { numRuns: 1000 }));
});

/** The fields of blocks in their order, and the error that ended the reading. */
function decode(blocks: readonly Buffer[]): readonly string[] {
  const decoder = new HpackDecoder();
  const found: string[] = [];
  try {
    for (const block of blocks) decoder.decode(block, { onField: (name, value) => found.push(`${name}: ${value}`) });
  } catch (error) {
    assert(error instanceof Http2Error, String(error));
    found.push(error.message);
  }
  return found;
}

test('lines come out of HPACK as they went in', (t) => {
  const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,20}$/);
  const value = latin1(200).map((text) => text.replaceAll(/^[ \t]+|[ \t\r\n]+$/g, ''));
  const property = fc.property(fc.array(fc.tuple(name, value), { maxLength: 20 }), (fields) => {
    const encoder = new HpackEncoder();
    const lines = fields.map(([key, text]) => `${key}: ${text}`);
    const block = Buffer.from(lines.map((line) => encoder.line(`${line}\r\n`)).join(''), 'latin1');
    assert.deepEqual(decode([block, block]), [...lines, ...lines]);
  });
  t.notThrows(() => fc.assert(property, { numRuns: 500 }));
});

test('several lines at once come out as each alone', (t) => {
  const encoder = new HpackEncoder();
  const lines = ['Server: srv\r\n', 'Date: Sun, 22 Nov 2026 09:42:04 GMT\r\n', 'X-A: \xc3\xa0\r\n'];
  const alone = lines.map((line) => encoder.line(line)).join('');
  for (const again of [1, 2]) t.is(encoder.recent(lines.join('')), alone, `${again}`);
  t.is(encoder.recent(''), '');
  t.deepEqual(decode([Buffer.from(alone + encoder.contentLength(12_345), 'latin1')]), [
    'server: srv',
    'date: Sun, 22 Nov 2026 09:42:04 GMT',
    'x-a: \xc3\xa0',
    'content-length: 12345',
  ]);
});

/** One step of an encoder: a literal that enters the table or does not, a reference to one that did, another size. */
type Step =
  | { readonly kind: 'added' | 'plain'; readonly name: string; readonly value: string }
  | { readonly kind: 'reference'; readonly back: number }
  | { readonly kind: 'resize'; readonly size: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constantFrom('added', 'plain'), name: latin1(40), value: latin1(200) }),
  fc.record({ kind: fc.constant('reference'), back: fc.nat({ max: 60 }) }),
  fc.record({ kind: fc.constant('resize'), size: fc.constantFrom(0, 50, 100, 1000, 4096) }),
);

/** The dynamic table as RFC 7541, 4 describes it. */
class Model {
  #fields: string[][] = [];
  #size = 4096;

  add(name: string, value: string): void {
    this.#fields.unshift([name, value]);
    this.resize(this.#size);
  }
  resize(size: number): void {
    this.#size = size;
    let used = 0;
    this.#fields = this.#fields.filter(([name = '', value = '']) => (used += name.length + value.length + 32) <= size);
  }
  at(back: number): string[] | undefined {
    return this.#fields[back];
  }
}

test('the dynamic table is what the RFC says', (t) => {
  const property = fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
    const model = new Model();
    const expected: string[] = [];
    const blocks: string[] = [];
    for (const one of steps) {
      if (one.kind === 'resize') {
        model.resize(one.size);
        blocks.push(String.fromCharCode(0x20 | integer(one.size, 5).charCodeAt(0)) + integer(one.size, 5).slice(1));
      } else if (one.kind === 'reference') {
        const index = integer(62 + one.back, 7);
        blocks.push(String.fromCharCode(0x80 | index.charCodeAt(0)) + index.slice(1));
        const found = model.at(one.back);
        expected.push(found === undefined ? 'index beyond the header table' : found.join(': '));
        if (found === undefined) break;
      } else {
        if (one.kind === 'added') model.add(one.name, one.value);
        blocks.push((one.kind === 'added' ? addedField : field)(one.name, one.value));
        expected.push(`${one.name}: ${one.value}`);
      }
    }
    assert.deepEqual(decode(blocks.map((block) => Buffer.from(block, 'latin1'))), expected);
  });
  t.notThrows(() => fc.assert(property, { numRuns: 1000 }));
});

/** Fields of all blocks, and how often the table has changed; an error ends them. @param repeats a block that is the last one is not decoded */
function fieldsOf(blocks: readonly Buffer[], repeats: boolean): string[] {
  const decoder = new HpackDecoder();
  const found: string[] = [];
  let last: { block: Buffer; fields: string[]; added: HpackDecoder['added'] } | undefined;
  try {
    for (const one of blocks) {
      if (repeats && last?.added !== undefined && last.block.equals(one)) {
        decoder.repeat(last.added);
        found.push(...last.fields);
        continue;
      }
      const fields: string[] = [];
      decoder.decode(one, { onField: (name, value) => void fields.push(`${name}: ${value}`) });
      last = { block: one, fields, added: decoder.added };
      found.push(...fields);
    }
  } catch (error) {
    found.push((error as Error).message);
  }
  return [...found, String(decoder.changes)];
}

test('a block that means the same whatever is in the table may be repeated without being decoded', (t) => {
  const references = [62, 63, 70, 90].map((index) => String.fromCharCode(0x80 | index));
  const parts = ['\x88', '\x20\x3f\xe1\x1f', addedField('a', 'b'), addedField('name', 'v'.repeat(900)), field('c', 'd'), ...references];
  const block = fc.array(fc.constantFrom(...parts), { minLength: 1, maxLength: 4 }).map((chosen) => Buffer.from(chosen.join(''), 'latin1'));
  const runs = fc.array(fc.tuple(block, fc.integer({ min: 1, max: 5 })), { maxLength: 8 });
  const property = fc.property(runs, (chosen) => {
    const blocks = chosen.flatMap(([one, times]) => Array.from({ length: times }, () => one));
    assert.deepEqual(fieldsOf(blocks, true), fieldsOf(blocks, false));
  });
  t.notThrows(() => fc.assert(property, { numRuns: 2000 }));
});

test('any bytes are fields or an error to HPACK', (t) => {
  const property = fc.property(fc.array(bytes, { maxLength: 5 }), (blocks) => {
    const found = decode(blocks);
    assert(found.length <= blocks.reduce((sum, { length }) => sum + length, 0));
  });
  t.notThrows(() => fc.assert(property, { numRuns: 3000 }));
});

test('fields of any bytes are a request of HTTP/1 in which every line is one of them, or malformed', (t) => {
  const usual = fc.constantFrom(':method', ':path', ':scheme', ':authority', 'host', 'cookie', 'te', 'x-a', 'content-length');
  const usualValue = fc.constantFrom('GET', '/', 'http', 'a.test', 'trailers', '5', '/a b', 'x\r\ny: z');
  const pair = fc.tuple(fc.oneof({ weight: 5, arbitrary: usual }, { weight: 1, arbitrary: latin1(10) }), fc.oneof(usualValue, latin1(20)));
  const server = { settings: { headLimits: { total: 1000 } } };
  const property = fc.property(fc.array(pair, { maxLength: 12 }), (more) => {
    const fields = new RequestFields({ defaultServer: server, find: () => ({ server }) }, false);
    for (const [name, value] of more) fields.onField(name, value);
    const head = fields.head();
    if (fields.malformed !== '') assert.equal(head, '');
    else {
      const lines = head.split('\r\n');
      assert.equal(lines.pop(), '');
      assert.equal(lines.pop(), '');
      assert.match(lines.shift() ?? '', /^[^ \r\n]+ [^ \r\n]+ HTTP\/1\.1$/);
      assert(
        lines.every((line) => /^[!#$%&'*+.^_`|~0-9a-z-]+: [^\0\r\n]*$/.test(line)),
        head,
      );
      assert(lines.length <= more.length);
    }
  });
  t.notThrows(() => fc.assert(property, { numRuns: 3000 }));
});
