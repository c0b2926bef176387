/** What the replies of name servers may look like. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import test from 'ava';
import * as fc from 'fast-check';
import { SentQuery } from '../../core/net/dns/message.js';
import { RecordType } from '../../core/net/dns/records.js';
import { dnsServer } from '../harness/dns-server.js';

/** The reply to a query, as far as the end of the question. */
function replyTo(query: SentQuery, answers: number): Buffer {
  const head = Buffer.from(query.bytes);
  head.writeUInt16BE(0x8180, 2);
  head.writeUInt16BE(answers, 6);
  return head;
}

test('any bytes are a reply, or none, and nothing worse', (t) => {
  const query = new SentQuery({ name: 'a.test', type: RecordType.A }, 'in mixed case');
  const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
  fc.assert(fc.property(bytes, (message) => typeof query.check(message) === 'string'));
  // After a good beginning the rest is read.
  fc.assert(
    fc.property(fc.nat(30), bytes, (count, rest) => {
      const check = query.check(Buffer.concat([replyTo(query, count), rest]));
      return check === 'malformed' || (typeof check === 'object' && check.answers.length <= count);
    }),
  );
  t.pass();
});

test('a true reply in which some bytes are others', async (t) => {
  const dns = await dnsServer(t);
  dns.cname('a.test', 'b.test');
  dns.a('b.test', ['192.0.2.1', '192.0.2.2']);
  const query = new SentQuery({ name: 'a.test', type: RecordType.A }, 'in mixed case');
  const client = createSocket('udp4');
  t.teardown(() => client.close());
  client.send(query.bytes, dns.port, '127.0.0.1');
  const [reply] = (await once(client, 'message')) as [Buffer];
  t.is((query.check(reply) as { answers: readonly unknown[] }).answers.length, 3);
  const flips = fc.array(fc.tuple(fc.nat(reply.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(flips, fc.nat(reply.length), (changes, length) => {
      const message = Buffer.from(reply);
      for (const [at, byte] of changes) message[at] = byte;
      query.check(message);
      query.check(message.subarray(0, length));
      return true;
    }),
  );
});

test('compression pointers that go round in circles, or are many, cost little', (t) => {
  const query = new SentQuery({ name: 'a.test', type: RecordType.A }, 'as it is');
  const head = replyTo(query, 5000);
  const self = Buffer.alloc(2);
  self.writeUInt16BE(0xc000 | head.length);
  t.is(query.check(Buffer.concat([head, self, Buffer.alloc(10)])), 'malformed');
  // A ladder of pointers in the data of one record, and as many records as fit, each with a name at its end.
  const rungs = 8000;
  const first = head.length + 11;
  const ladder = Buffer.alloc(11 + rungs * 2);
  ladder.writeUInt16BE(65_280, 1);
  ladder.writeUInt16BE(1, 3);
  ladder.writeUInt16BE(rungs * 2, 9);
  for (let rung = 1; rung < rungs; rung++) ladder.writeUInt16BE(0xc000 | (first + (rung - 1) * 2), 11 + rung * 2);
  const record = Buffer.alloc(16);
  record.writeUInt16BE(0xc000 | Math.min(first + (rungs - 1) * 2, 0x3fff));
  record.writeUInt16BE(RecordType.A, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt16BE(4, 10);
  const rest = Array.from({ length: 2900 }, () => record);
  const message = Buffer.concat([head, ladder, ...rest]).subarray(0, 65_535);
  const begun = process.cpuUsage().user;
  t.is(query.check(message), 'malformed');
  t.true(process.cpuUsage().user - begun < 1_000_000, 'without a bound it takes seconds');
});
