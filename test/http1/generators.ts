/** Messages for the fuzz tests: mostly well-formed, made of parts that parsers disagree about, then damaged a little. */
import * as fc from 'fast-check';

/** Mostly one of `usual`, now and then one of `odd`. */
function mostly<T>(weight: number, usual: readonly T[], odd: readonly T[]): fc.Arbitrary<T> {
  return fc.oneof({ weight, arbitrary: fc.constantFrom(...usual) }, { weight: 1, arbitrary: fc.constantFrom(...odd) });
}

const lineEnd = mostly(150, ['\r\n'], ['\n', '\n', '\r', '\r\r\n']);

const plainField = fc
  .tuple(
    fc.constantFrom('X-A', 'x-b', 'Accept', 'Cookie', 'TE', 'Trailer', 'Keep-Alive', 'Upgrade', 'Expect', 'Connection'),
    fc.constantFrom(': ', ': ', ':', ':\t '),
    fc.constantFrom(
      'a',
      '',
      'b c',
      '5',
      '\xe9\tx',
      '"q: \\" r"',
      'websocket',
      '100-continue',
      'keep-alive',
      'close',
      'a, Upgrade',
      'chunked',
    ),
    fc.constantFrom('', '', ' ', '\t '),
  )
  .map((parts) => parts.join(''));

/** Fields that say, well or badly, where the body ends, and fields that are badly written. */
const oddField = fc
  .tuple(
    fc.constantFrom('Content-Length', 'content-length', 'Transfer-Encoding', 'tRANSFER-ENCODING', 'Host', 'X-A'),
    fc.constantFrom(': ', ':', ' : ', '\t:', ':\x0b'),
    fc.constantFrom(
      '0',
      '5',
      '05',
      '+5',
      '5, 5',
      '0x5',
      'chunked',
      'Chunked',
      'gzip, chunked',
      'chunked, identity',
      'identity',
      'a.example',
      '',
    ),
  )
  .map((parts) => parts.join(''));

const fieldLine = fc.oneof({ weight: 6, arbitrary: plainField }, { weight: 1, arbitrary: oddField });

const chunk = fc.constantFrom(
  '5\r\nhello\r\n',
  '1\r\n!\r\n',
  '00A\r\n0123456789\r\n',
  '2;a=b\r\nhi\r\n',
  '4\r\n\r\n\r\n\r\n',
  '3;a="b; c"\r\nabc\r\n',
);
const lastChunk = fc.constantFrom(
  '0\r\n\r\n',
  '0\r\n\r\n',
  '000\r\n\r\n',
  '0\r\nX-A: b\r\n\r\n',
  '0\r\nX-A:b \r\nX-B:\r\n\r\n',
  '0;a\r\n\r\n',
);
const chunkedBody = fc.tuple(fc.array(chunk, { maxLength: 3 }), lastChunk).map(([chunks, last]) => chunks.join('') + last);

/** Field lines that frame the body, and the body. */
const content = fc.oneof(
  fc.constant<[string[], string]>([[], '']),
  fc.constantFrom('', 'a', 'hello', '0\r\n\r\n').map<[string[], string]>((body) => [[`Content-Length: ${body.length}`], body]),
  chunkedBody.map<[string[], string]>((body) => [['Transfer-Encoding: chunked'], body]),
);

/** The parts of a message as bytes: a first line, the fields it must have, and more. */
function message(firstLine: fc.Arbitrary<string>, required: fc.Arbitrary<string[]>): fc.Arbitrary<string> {
  const others = fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.array(fieldLine, { maxLength: 4 }) });
  const ends = fc.array(lineEnd, { minLength: 12, maxLength: 12 });
  return fc
    .tuple(firstLine, required, others, content, fc.boolean(), ends)
    .map(([first, required, others, [framing, body], framingFirst, ends]) => {
      const lines = [first, ...required, ...(framingFirst ? [...framing, ...others] : [...others, ...framing]), ''];
      return lines.map((line, i) => line + (ends[i] ?? '\r\n')).join('') + body;
    });
}

// No PRI among the methods: llhttp has a way of its own to stop at an HTTP/2 preface.
const methodAndTarget = fc.oneof(
  {
    weight: 12,
    arbitrary: fc
      .tuple(
        fc.constantFrom('GET', 'GET', 'POST', 'PUT', 'HEAD', 'DELETE', 'OPTIONS', 'M-SEARCH'),
        fc.constantFrom(
          '/',
          '/a?b=c',
          '/a#b',
          '//a/./b',
          '/a%2fb',
          'http://a.example/b',
          'http://a.example',
          'HTTP://a:1?c',
          '/a?b=http://c',
        ),
      )
      .map((parts) => parts.join(' ')),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('OPTIONS *', 'CONNECT a.example:80', 'GET /\x80', 'BREW /', 'GET *', 'get /', 'CONNECT /', 'GET a'),
  },
);
const version = mostly(
  20,
  [...Array.from({ length: 8 }, () => 'HTTP/1.1'), 'HTTP/1.0'],
  ['HTTP/1.2', 'http/1.1', 'HTTP/2.0', 'HTTP/0.9', ''],
);
const requestLine = fc.tuple(methodAndTarget, version).map((parts) => parts.join(' '));
const host = mostly(20, [['Host: a.example'], ['Host: a.example'], ['Host: [::1]:80'], ['host:a']], [[], ['Host: ']]);

/** One to three pipelined requests. */
export const requests: fc.Arbitrary<string> = fc
  .array(message(requestLine, host), { minLength: 1, maxLength: 3 })
  .map((all) => all.join(''));

const status = mostly(20, ['200', '200', '404', '204', '304', '500', '999'], ['100', '103', '101', '099', '20', '2x0']);
const reason = fc.constantFrom(' OK', ' ', '', ' d\xe9j\xe0', ' a\tb', '  x');
const responseVersion = mostly(20, ['HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0'], ['HTTP/1.2', 'http/1.1', 'ICY']);
const statusLine = fc.tuple(responseVersion, status, reason).map(([version, status, reason]) => `${version} ${status}${reason}`);

/** Interim responses and one that may be final. */
export const responses: fc.Arbitrary<string> = fc
  .tuple(
    fc.array(fc.constantFrom('HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 103 Early\r\nLink: a\r\n\r\n'), { maxLength: 2 }),
    message(statusLine, fc.constant([])),
  )
  .map(([interim, final]) => interim.join('') + final);

const nasty = fc.constantFrom(
  '\r',
  '\n',
  '\r\n',
  '\0',
  ' ',
  '\t',
  ':',
  ';',
  ',',
  '\x0b',
  '\x7f',
  '\x80',
  '\xff',
  '0',
  '-',
  '+',
  'x',
  '/',
  '#',
  '"',
  '\r\n ',
  '\r\n\r\n',
);

type Damage = [at: number, inserted: string, deleted: number];
const damage: fc.Arbitrary<Damage> = fc.oneof(
  fc.tuple(fc.nat(), nasty, fc.constantFrom(0, 0, 1, 2)),
  fc.tuple(fc.nat(), fc.constant(''), fc.integer({ min: 1, max: 12 })),
);

/** `text` with up to two small faults; half of the time none. */
export function damaged(text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const faults = fc.oneof(fc.constant<Damage[]>([]), fc.array(damage, { minLength: 1, maxLength: 2 }));
  return fc.tuple(text, faults).map(([text, faults]) => {
    let result = text;
    for (const [at, inserted, deleted] of faults) {
      const point = at % (result.length + 1);
      result = result.slice(0, point) + inserted + result.slice(point + deleted);
    }
    return result;
  });
}
