import test from 'ava';
import { malformedRequests } from './malformed-requests.js';
import { readRequests } from './wire.js';

for (const request of malformedRequests) {
  test(`rejected: ${request.name}`, (t) => {
    const reading = readRequests(Buffer.from(request.bytes, 'latin1'));
    t.like(reading, { messages: [], status: request.status, in: request.in });
    t.not(reading.reason, '');
  });
}

test('no beginning of a malformed request is a request', (t) => {
  for (const { name, bytes } of malformedRequests) {
    const input = Buffer.from(bytes, 'latin1');
    const step = Math.ceil(input.length / 200);
    for (let length = 0; length < input.length; length += step) t.deepEqual(readRequests(input.subarray(0, length)).messages, [], name);
  }
});

test('every name in the table is its own', (t) => {
  t.is(new Set(malformedRequests.map((request) => request.name)).size, malformedRequests.length);
});
