import test from 'ava';
import * as fc from 'fast-check';
import { PassCounter } from '../../modules/health_check/pass-counter.js';
import { ResponseReader } from '../../modules/health_check/response-reader.js';
import {
  parseBody,
  parseBytes,
  parseExpectation,
  parseHeader,
  parseStatus,
  passesHeader,
  passesStatus,
} from '../../modules/health_check/rules.js';
import { MALFORMED_CHUNKS, MALFORMED_RESPONSES } from '../http/malformed-responses.js';
import { Schedule, type Scheduled } from '../../modules/health_check/schedule.js';
import { matches } from '../../modules/health_check/tcp-probe.js';

const FIRST = ['up', 'checking', 'unhealthy'] as const;

test('a member is unhealthy after so many checks in a row that failed, and up after so many that passed', (t) => {
  const count = fc.integer({ min: 1, max: 5 });
  fc.assert(
    fc.property(fc.constantFrom(...FIRST), count, count, fc.array(fc.boolean(), { maxLength: 40 }), (first, passes, fails, results) => {
      const counter = new PassCounter(first);
      let expected: (typeof FIRST)[number] = first;
      for (let at = 0; at < results.length; at++) {
        const before = counter.state;
        const hasTurned = counter.count(results[at]!, passes, fails);
        const lastOf = (length: number): boolean[] => results.slice(Math.max(0, at + 1 - length), at + 1);
        if (lastOf(passes).length === passes && lastOf(passes).every(Boolean)) expected = 'up';
        else if (lastOf(fails).length === fails && !lastOf(fails).some(Boolean)) expected = 'unhealthy';
        t.is(counter.state, expected);
        t.is(hasTurned, before !== expected);
      }
    }),
  );
  t.pass();
});

const passing = (rule: string, ...statuses: number[]): number[] => statuses.filter((status) => passesStatus(parseStatus(rule), status));

test('rules for statuses', (t) => {
  t.deepEqual(passing('200-299 301', 199, 200, 299, 300, 301, 302), [200, 299, 301]);
  t.deepEqual(passing('! 500', 200, 500, 501), [200, 501]);
  t.deepEqual(passing('! 301-303 307', 301, 303, 304, 307), [304]);
  for (const rule of ['', '!', '20', '2000', '300-200', '200,201', '099', 'abc', '200 ! 300'])
    t.throws(() => parseStatus(rule), undefined, rule);
});

const passes = (rule: string, ...values: string[]): boolean => passesHeader(parseHeader(rule), values);

test('rules for header fields', (t) => {
  t.true(passes('X-Kind', 'any'));
  t.false(passes('X-Kind'));
  t.true(passes('! X-Kind'));
  t.false(passes('!X-Kind', 'any'));
  t.true(passes('X-Kind = a b', 'a b'));
  t.false(passes('X-Kind = a', 'a b'));
  t.true(passes('X-Kind = b', 'a', 'b'), 'one of several lines');
  t.false(passes('X-Kind != b', 'b'));
  t.true(passes('X-Kind != b'));
  t.true(passes('X-Kind ~ ^a.c$', 'abc'));
  t.false(passes('X-Kind ~ ABC', 'abc'));
  t.true(passes('X-Kind ~* ABC', 'abc'));
  t.true(passes('X-Kind !~ b', 'xyz'));
  t.is(parseHeader('Content-Type = x').field, 'content-type');
  for (const rule of ['', '!', 'a:b', 'X-Kind = ', '! X-Kind = b', 'X-Kind b', 'X-Kind ~ ('])
    t.throws(() => parseHeader(rule), undefined, rule);
});

test('rules for bodies and for data', (t) => {
  t.like(parseBody('~ ok'), { isNegated: false });
  t.like(parseBody('!~ error'), { isNegated: true });
  t.true(parseBody('~* é').pattern.test(Buffer.from('é').latin1Slice()));
  for (const rule of ['', 'ok', '~', '! ok', '~ (']) t.throws(() => parseBody(rule), undefined, rule);
  t.deepEqual(parseBytes(String.raw`A\x00\xFFé`), Buffer.from([0x41, 0, 0xff, 0xc3, 0xa9]));
  t.is(matches(parseExpectation('+PONG'), '+PONG\r\n'), true);
  t.is(matches(parseExpectation('+PONG'), '+PO'), undefined, 'more may come');
  t.is(matches(parseExpectation('+PONG'), '-ERR'), false);
  t.is(matches(parseExpectation('~ P.NG'), '+PONG'), true);
  t.is(matches(parseExpectation('~ P.NG'), '+PING?'), true);
  t.is(matches(parseExpectation('~ P.NG'), 'no'), undefined);
});

/** Reads a response whose bytes come in pieces. */
function read(text: string, wantsBody: boolean, pieces: readonly number[] = []): { reader: ResponseReader; last: string } {
  const reader = new ResponseReader(wantsBody);
  const bytes = Buffer.from(text, 'latin1');
  const ends = [...pieces.map((at) => at % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b);
  let last = 'more';
  let from = 0;
  for (const end of ends) {
    if (end > from && last === 'more') last = reader.read(bytes.subarray(from, end));
    from = end;
  }
  return { reader, last };
}

test('a response is read in any pieces', (t) => {
  const chunked =
    'HTTP/1.1 103 X\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA: 1\r\na: 2\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n';
  const counted = 'HTTP/1.0 404\r\nContent-Length: 5\r\n\r\nabcde';
  fc.assert(
    fc.property(fc.constantFrom(chunked, counted), fc.array(fc.nat(), { maxLength: 10 }), (text, pieces) => {
      const { reader, last } = read(text, true, pieces);
      t.is(last, 'complete');
      t.is(reader.status, text === chunked ? 200 : 404);
      t.is(reader.body, 'abcde');
      t.deepEqual(reader.fields('a'), text === chunked ? ['1', '2'] : []);
    }),
  );
  t.is(read(counted.slice(0, -2), false).last, 'complete', 'the head is enough');
});

test('a body without a length goes to the end of the connection, others have to be whole', (t) => {
  const open = read('HTTP/1.1 200 OK\r\n\r\nabc', true);
  t.is(open.last, 'more');
  t.true(open.reader.isCompleteAtEnd);
  t.false(read('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc', true).reader.isCompleteAtEnd);
  t.false(read('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc', true).reader.isCompleteAtEnd);
  t.is(read(`HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(300_000)}`, true).last, 'complete', 'what is too long is cut off');
});

for (const text of ['SSH-2.0-x\r\n\r\n', 'HTTP/1.1 099 X\r\n\r\n', 'x'.repeat(40_000)])
  test(`malformed: ${JSON.stringify(text.slice(0, 50))}`, (t) => t.is(read(text, true).last, 'malformed'));

function accepted(text: string, wantsBody: boolean): boolean {
  const { reader, last } = read(text, wantsBody);
  return last === 'complete' || (last === 'more' && reader.isCompleteAtEnd);
}

test('what is malformed for requests is malformed for checks', (t) => {
  for (const [name, text] of Object.entries(MALFORMED_RESPONSES))
    for (const wantsBody of [true, false]) t.false(accepted(text, wantsBody), name);
  for (const [name, body] of Object.entries(MALFORMED_CHUNKS))
    t.false(accepted(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body}`, true), name);
});

test('what is due comes in its order, however entries were moved and removed', (t) => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(19), fc.integer({ min: -1, max: 50 })), { maxLength: 100 }), (steps) => {
      let run: (() => void) | undefined;
      const schedule = new Schedule({
        after: (_, work) => {
          run = () => void work(new AbortController().signal);
          return { cancel: () => undefined };
        },
      });
      const fired: number[] = [];
      const expected = new Map<number, number>();
      const entries = Array.from({ length: 20 }, (_, id): Scheduled => ({ due: 0, place: -1, onDue: () => void fired.push(id) }));
      for (const [id, after] of steps) {
        if (after < 0) {
          schedule.remove(entries[id]!);
          expected.delete(id);
        } else {
          // All of it is over by now.
          schedule.set(entries[id]!, after - 1000);
          expected.set(id, entries[id]!.due);
        }
      }
      schedule.start();
      run?.();
      t.deepEqual(new Set(fired), new Set(fired.filter((id) => expected.has(id))));
      t.is(fired.length, expected.size);
      const dues = fired.map((id) => expected.get(id)!);
      t.deepEqual(
        dues,
        dues.toSorted((a, b) => a - b),
      );
    }),
  );
});
