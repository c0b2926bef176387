import test from 'ava';
import {
  BODY_CHUNKED,
  BODY_LENGTH,
  BODY_NONE,
  BODY_UNTIL_CLOSE,
  parseResponseHead,
  responseBodyKind,
  ResponseHead,
} from '../../core/net/http1/response-head.js';
import { readResponse } from './wire.js';

function parse(text: string): ResponseHead {
  const head = new ResponseHead();
  parseResponseHead(head, text);
  return head;
}

/** With this status line and these field lines. */
function response(line: string, ...fields: string[]): string {
  return [line, ...fields, '', ''].join('\r\n');
}

function kind(method: string, line: string, ...fields: string[]): number {
  return responseBodyKind(method, parse(response(line, ...fields)));
}

test('a response head', (t) => {
  const head = parse(response('HTTP/1.1 404 Not Found', 'Server: a', 'Content-Length: 12'));
  t.like(head, { reason: '', status: 404, minor: 1, contentLength: 12, chunked: false, keepAlive: true, interim: false, count: 2 });
  t.is(head.text.slice(head.reasonStart, head.reasonEnd), 'Not Found');
  t.is(head.end, head.text.length);
});

test('reason phrases: any text, none, no space before none', (t) => {
  for (const reason of [' d\xe9j\xe0 vu', ' a\tb  c', ' ', ''])
    t.is(parse(response(`HTTP/1.1 200${reason}`)).reason, '', JSON.stringify(reason));
});

test('the connection lives as version and Connection say', (t) => {
  t.true(parse(response('HTTP/1.1 200 OK')).keepAlive);
  t.false(parse(response('HTTP/1.1 200 OK', 'Connection: close')).keepAlive);
  t.false(parse(response('HTTP/1.0 200 OK')).keepAlive);
  t.true(parse(response('HTTP/1.0 200 OK', 'Connection: keep-alive')).keepAlive);
});

test('interim responses are told from final ones, and 101 from both', (t) => {
  t.true(parse(response('HTTP/1.1 100 Continue')).interim);
  t.true(parse(response('HTTP/1.1 103 Early Hints', 'Link: </a>')).interim);
  const switching = parse(response('HTTP/1.1 101 Switching Protocols', 'Connection: upgrade', 'Upgrade: websocket'));
  t.like(switching, { interim: false, upgrade: true });
  t.false(parse(response('HTTP/1.1 200 OK', 'Connection: upgrade', 'Upgrade: h2c')).upgrade);
  t.false(parse(response('HTTP/1.1 101 Switching Protocols')).upgrade);
});

test('how the body ends', (t) => {
  t.is(kind('GET', 'HTTP/1.1 200 OK', 'Content-Length: 5'), BODY_LENGTH);
  t.is(kind('GET', 'HTTP/1.1 200 OK', 'Content-Length: 0'), BODY_LENGTH);
  t.is(kind('GET', 'HTTP/1.1 200 OK', 'Transfer-Encoding: chunked'), BODY_CHUNKED);
  t.is(kind('GET', 'HTTP/1.1 200 OK'), BODY_UNTIL_CLOSE);
  t.is(kind('HEAD', 'HTTP/1.1 200 OK', 'Content-Length: 5'), BODY_NONE);
  t.is(kind('HEAD', 'HTTP/1.1 200 OK', 'Transfer-Encoding: chunked'), BODY_NONE);
  t.is(kind('GET', 'HTTP/1.1 204 No Content'), BODY_NONE);
  t.is(kind('GET', 'HTTP/1.1 304 Not Modified', 'Content-Length: 5'), BODY_NONE);
  t.is(kind('GET', 'HTTP/1.1 103 Early Hints'), BODY_NONE);
  t.is(kind('CONNECT', 'HTTP/1.1 200 OK', 'Content-Length: 5'), BODY_NONE);
  t.is(kind('CONNECT', 'HTTP/1.1 403 Forbidden', 'Content-Length: 5'), BODY_LENGTH);
});

test('nothing may follow a response that announces a body it cannot have', (t) => {
  t.false(parse(response('HTTP/1.1 204 No Content', 'Content-Length: 5')).keepAlive);
  t.false(parse(response('HTTP/1.1 204 No Content', 'Transfer-Encoding: chunked')).keepAlive);
  t.true(parse(response('HTTP/1.1 204 No Content', 'Content-Length: 0')).keepAlive);
  t.true(parse(response('HTTP/1.1 304 Not Modified', 'Content-Length: 5')).keepAlive);
});

const malformed: Record<string, string> = {
  'other protocol': response('ICY 200 OK'),
  'version in lower case': response('http/1.1 200 OK'),
  'version 1.2': response('HTTP/1.2 200 OK'),
  'version 2.0': response('HTTP/2.0 200 OK'),
  'version without a minor number': response('HTTP/1 200 OK'),
  'two spaces before the status': response('HTTP/1.1  200 OK'),
  'tab before the status': response('HTTP/1.1\t200 OK'),
  'status of two digits': response('HTTP/1.1 20 OK'),
  'status of four digits': response('HTTP/1.1 2000 OK'),
  'status below 100': response('HTTP/1.1 099 OK'),
  'status that is no number': response('HTTP/1.1 2x0 OK'),
  'status with a sign': response('HTTP/1.1 +20 OK'),
  'no status': response('HTTP/1.1'),
  'control character in the reason': response('HTTP/1.1 200 O\x01K'),
  'NUL in the reason': response('HTTP/1.1 200 O\0K'),
  'CR in the reason': response('HTTP/1.1 200 O\rK'),
  'empty line first': `\r\n${response('HTTP/1.1 200 OK')}`,
  'space before the colon': response('HTTP/1.1 200 OK', 'A : b'),
  'folded value': response('HTTP/1.1 200 OK', 'A: b', ' c'),
  'CR behind a line of LF': response('HTTP/1.1 200 OK', 'A: b\nC: d\re'),
  'NUL in a value': response('HTTP/1.1 200 OK', 'A: b\0'),
  'Content-Length and Transfer-Encoding': response('HTTP/1.1 200 OK', 'Content-Length: 5', 'Transfer-Encoding: chunked'),
  'Content-Length twice': response('HTTP/1.1 200 OK', 'Content-Length: 5', 'Content-Length: 5'),
  'Content-Length that is a list': response('HTTP/1.1 200 OK', 'Content-Length: 5, 5'),
  'negative Content-Length': response('HTTP/1.1 200 OK', 'Content-Length: -5'),
  'Content-Length with a sign': response('HTTP/1.1 200 OK', 'Content-Length: +5'),
  'other Transfer-Encoding': response('HTTP/1.1 200 OK', 'Transfer-Encoding: gzip, chunked'),
  'Transfer-Encoding twice': response('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'),
  'Transfer-Encoding in HTTP/1.0': response('HTTP/1.0 200 OK', 'Transfer-Encoding: chunked'),
  'interim response with a body': response('HTTP/1.1 100 Continue', 'Content-Length: 5'),
  'interim response that closes': response('HTTP/1.1 100 Continue', 'Connection: close'),
  'interim response in HTTP/1.0': response('HTTP/1.0 100 Continue'),
  'bad chunk size': `${response('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked')}x\r\n`,
};

for (const [name, bytes] of Object.entries(malformed)) {
  test(`rejected: ${name}`, (t) => {
    const reading = readResponse(Buffer.from(bytes, 'latin1'), 'GET');
    t.like(reading, { messages: [], status: 502 });
    t.not(reading.reason, '');
  });
}

test('the reason of a rejection names the upstream', (t) => {
  t.is(parse(malformed['Content-Length twice'] ?? '').reason, 'upstream sent duplicate header line "Content-Length"');
});

test('lines may end with LF alone', (t) => {
  const bytes = 'HTTP/1.1 103 Early Hints\nLink: </a>\n\nHTTP/1.1 200\nContent-Length: 4\r\nA: b\n\n\r\n\r\n';
  t.deepEqual(
    readResponse(Buffer.from(bytes), 'GET').messages.map(({ first, second, fields, body }) => [first, second, fields, body]),
    [
      ['103', 'Early Hints', ['Link', '</a>'], ''],
      ['200', '', ['Content-Length', '4', 'A', 'b'], '\r\n\r\n'],
    ],
  );
});

test('interim responses, then the final one', (t) => {
  const bytes =
    response('HTTP/1.1 100 Continue') +
    response('HTTP/1.1 103 Early Hints', 'Link: </a>') +
    response('HTTP/1.1 200 OK', 'Content-Length: 2');
  const reading = readResponse(Buffer.from(`${bytes}hi`, 'latin1'), 'GET');
  t.deepEqual(
    reading.messages.map(({ first, body }) => [first, body]),
    [
      ['100', ''],
      ['103', ''],
      ['200', 'hi'],
    ],
  );
});
