import test from 'ava';
import { HeadEnd, parseFound } from '../../core/net/http1/head-end.js';
import { DEFAULT_HEAD_LIMITS } from '../../core/net/http1/message-head.js';
import { parseRequestHead, RequestHead } from '../../core/net/http1/request-head.js';
import { RequestUri } from '../../core/net/http1/uri.js';
import { malformedRequests } from './malformed-requests.js';
import { validRequests } from './valid-requests.js';
import { readRequests } from './wire.js';

/** Parses the head of the first request in `bytes`; -1: its end cannot be found. */
function headOf(head: RequestHead, bytes: string): number {
  const input = Buffer.from(bytes, 'latin1');
  const search = new HeadEnd();
  const end = search.find(input, 0, DEFAULT_HEAD_LIMITS);
  if (end <= 0) return -1;
  return parseFound(search, input, 0, end, DEFAULT_HEAD_LIMITS, head, parseRequestHead);
}

function hostOf(head: RequestHead): string | undefined {
  return head.hostStart < 0 ? undefined : head.text.slice(head.hostStart, head.hostEnd);
}

for (const request of validRequests) {
  test(`taken: ${request.name}`, (t) => {
    const { method, target, minor, fields, body, trailers } = request;
    const reading = readRequests(Buffer.from(request.bytes, 'latin1'));
    t.deepEqual(reading, {
      messages: [{ first: method, second: target, minor, fields: [...fields], body, trailers }],
      status: 0,
      reason: '',
      in: '',
    });

    const head = new RequestHead();
    t.is(headOf(head, request.bytes), 0);
    const { keepAlive, upgrade, expectContinue, host } = request;
    t.deepEqual(
      { keepAlive, upgrade, expectContinue, host },
      {
        keepAlive: head.keepAlive,
        upgrade: head.upgrade,
        expectContinue: head.expectContinue,
        host: hostOf(head),
      },
    );

    const uri = new RequestUri();
    t.true(uri.parse(head.text.slice(head.pathStart, head.targetEnd), true));
    t.deepEqual([uri.path, uri.args], [request.path, request.args]);
  });
}

test('a head says nothing of the one that was parsed into it before', (t) => {
  const reused = new RequestHead();
  const full =
    'POST http://b.example:8080/ HTTP/1.1\r\nHost: a.example\r\nConnection: close, x, upgrade\r\nUpgrade: a\r\nExpect: 100-continue\r\n';
  for (const { name, bytes } of [...validRequests, ...malformedRequests]) {
    t.is(headOf(reused, `${full}Content-Length: 5\r\n\r\n`), 0);
    const fresh = new RequestHead();
    const status = headOf(fresh, bytes);
    t.is(headOf(reused, bytes), status, name);
    if (status >= 0) t.deepEqual(scalars(reused), scalars(fresh), name);
  }
});

/** All of a head except its tables, which keep what is behind their count. */
function scalars(head: RequestHead): Record<string, unknown> {
  return Object.fromEntries(Object.entries(head).filter(([, value]) => !ArrayBuffer.isView(value)));
}

test('pipelined requests are read one after the other, whatever their bodies', (t) => {
  const kept = validRequests.filter((request) => request.keepAlive && !request.upgrade && request.method !== 'CONNECT');
  const reading = readRequests(Buffer.from(kept.map((request) => request.bytes).join(''), 'latin1'));
  t.is(reading.reason, '');
  t.deepEqual(
    reading.messages.map(({ first, second, body }) => [first, second, body]),
    kept.map(({ method, target, body }) => [method, target, body]),
  );
});

test('nothing is read after a request that closes the connection', (t) => {
  const close = 'GET /a HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n';
  t.is(readRequests(Buffer.from(close + close, 'latin1')).messages.length, 1);
});
