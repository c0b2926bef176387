import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import test, { type ExecutionContext } from 'ava';
import { Clock } from '../../core/net/clock.js';
import { SystemHostNames } from '../../core/net/host-names.js';

const A = 1;
const AAAA = 28;

interface NameServer {
  readonly names: SystemHostNames;
  /** `name type` of each question. */
  readonly questions: readonly string[];
}

/** Addresses by `name type`; undefined: no reply; 'nothing': there is no such name. */
async function nameServer(t: ExecutionContext, zone: (question: string) => readonly Buffer[] | 'nothing' | undefined): Promise<NameServer> {
  const socket = createSocket('udp4');
  t.teardown(() => socket.close());
  const questions: string[] = [];
  socket.on('message', (query, from) => {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length));
      at += length + 1;
    }
    const type = query.readUInt16BE(at + 1);
    const question = `${labels.join('.').toLowerCase()} ${type}`;
    questions.push(question);
    const found = zone(question);
    if (found === undefined) return;
    const records = found === 'nothing' ? [] : found;
    const head = Buffer.from(query.subarray(0, at + 5));
    head.writeUInt16BE(found === 'nothing' ? 0x8183 : 0x8180, 2);
    head.writeUInt16BE(records.length, 6);
    head.writeUInt16BE(0, 8);
    head.writeUInt16BE(0, 10);
    const replies = records.map((address) => {
      const record = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, address.length]);
      return Buffer.concat([record, address]);
    });
    socket.send(Buffer.concat([head, ...replies]), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  return { names: new SystemHostNames(new Clock(), [`127.0.0.1:${port}`]), questions };
}

const v4 = (...last: number[]): Buffer[] => last.map((byte) => Buffer.from([192, 0, 2, byte]));
const v6 = (...last: number[]): Buffer[] => last.map((byte) => Buffer.from([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, byte]));

test('addresses of both kinds come in turn, and are remembered', async (t) => {
  const { names, questions } = await nameServer(t, (question) => (question.endsWith(` ${A}`) ? v4(1, 2, 3) : v6(1)));
  const expected = ['2001:db8::1', '192.0.2.1', '192.0.2.2', '192.0.2.3'];
  const replies = await Promise.all([names.resolve('a.example'), names.resolve('A.Example.')]);
  t.deepEqual(replies, [expected, expected]);
  t.deepEqual(await names.resolve('a.example'), expected);
  t.deepEqual(questions.toSorted(), [`a.example ${A}`, `a.example ${AAAA}`], 'asked once');
});

test('a server that is silent about IPv6 does not hold IPv4 up', async (t) => {
  const { names } = await nameServer(t, (question) => (question.endsWith(` ${A}`) ? v4(1) : undefined));
  t.deepEqual(await names.resolve('a.example'), ['192.0.2.1']);
});

test('a name with IPv6 alone', async (t) => {
  const { names } = await nameServer(t, (question) => (question.endsWith(` ${AAAA}`) ? v6(7) : []));
  t.deepEqual(await names.resolve('a.example'), ['2001:db8::7']);
});

test('a name that does not exist is asked for again', async (t) => {
  const { names, questions } = await nameServer(t, () => 'nothing');
  const message = 'a.example could not be resolved (3: Host not found)';
  await t.throwsAsync(names.resolve('a.example'), { message });
  await t.throwsAsync(names.resolve('a.example'), { message });
  t.is(questions.length, 4);
});

test('names of this machine and names that never exist are not asked for', async (t) => {
  const { names, questions } = await nameServer(t, () => 'nothing');
  t.deepEqual(await names.resolve('x.localhost'), ['::1', '127.0.0.1']);
  t.true((await names.resolve('localhost')).includes('127.0.0.1'));
  for (const name of ['a.invalid', 'a.onion']) await t.throwsAsync(names.resolve(name), { message: /Host not found/ });
  t.deepEqual(questions, []);
});
