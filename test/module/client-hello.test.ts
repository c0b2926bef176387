import type { SecureVersion } from 'node:tls';
import test from 'ava';
import { array, assert, nat, property, record, uint8Array } from 'fast-check';
import { readClientHello, type ClientHello } from '../../core/toolkit/client-hello.js';
import { helloOf, helloWith, inRecords, vector } from '../stream/hellos.js';

const typical = (): Promise<Buffer> => helloOf({ servername: 'A.Example', ALPNProtocols: ['h2', 'http/1.1'] });

const bytesOf = (text: string): number[] => [...Buffer.from(text)];
/** The extension with these names. */
const namesOf = (...names: number[][]): [number, number[]] => [0, vector(...names.flat())];
const hostName = (name: string): number[] => [0, ...vector(...bytesOf(name))];

test('what a hello says, however it is cut', async (t) => {
  const hello = await typical();
  for (let length = 0; length < hello.length; length++) t.is(readClientHello(hello.subarray(0, length)), undefined, `${length} bytes`);
  const said = readClientHello(hello);
  t.like(said, { version: 0x0304, serverName: 'A.Example', protocols: ['h2', 'http/1.1'], session: '' } satisfies Partial<ClientHello>);
  t.regex(said?.ciphers ?? '', /\x13\x02/, 'TLS_AES_256_GCM_SHA384');
  t.regex(said?.groups ?? '', /\x00\x1d/, 'X25519');
  t.regex(said?.signatures ?? '', /\x04\x03/, 'ecdsa_secp256r1_sha256');
  t.deepEqual(readClientHello(Buffer.concat([hello, hello])), said, 'with what follows it');
});

test('a hello in several records, of whatever size, and cut anywhere', async (t) => {
  const hello = await typical();
  const said = readClientHello(hello);
  for (const size of [1, 2, 3, 4, 5, 100, 300]) {
    const bytes = inRecords(hello, Math.max(size, Math.ceil(hello.length / 500)));
    t.deepEqual(readClientHello(bytes), said, `records of ${size} bytes`);
    for (let length = 0; length < bytes.length; length += 7) t.is(readClientHello(bytes.subarray(0, length)), undefined);
  }
});

for (const [protocol, version] of [
  ['TLSv1', 0x0301],
  ['TLSv1.1', 0x0302],
  ['TLSv1.2', 0x0303],
  ['TLSv1.3', 0x0304],
] satisfies [SecureVersion, number][]) {
  test(`the version of a client that speaks ${protocol} at the most`, async (t) => {
    const hello = await helloOf({ servername: 'a.example', minVersion: 'TLSv1', maxVersion: protocol, ciphers: 'DEFAULT@SECLEVEL=0' });
    t.like(readClientHello(hello), { version, serverName: 'a.example' });
  });
}

test('supported versions count, not the one that all clients name; unknown ones do not', (t) => {
  t.is(readClientHello(helloWith([[43, [4, 3, 3, 3, 2]]]))?.version, 0x0303);
  t.is(readClientHello(helloWith([[43, [6, 0x7a, 0x7a, 3, 4, 3, 3]]]))?.version, 0x0304, 'with GREASE');
  t.is(readClientHello(helloWith([[43, [2, 0x7f, 28]]]))?.version, 0x0303, 'a draft alone');
});

test('a hello without a name, without extensions, and of SSL 2', async (t) => {
  t.like(readClientHello(await helloOf({})), { serverName: '', protocols: [] });
  const bare = helloWith([]);
  const withoutList = Buffer.concat([
    bare.subarray(0, 3),
    Buffer.from([0, bare.length - 7, 1, 0, 0, bare.length - 11]),
    bare.subarray(9, -2),
  ]);
  t.like(readClientHello(withoutList), { version: 0x0303, serverName: '', protocols: [], session: '', groups: '', signatures: '' });
  t.is(readClientHello(Buffer.from([0x80, 46, 1, 3, 1, 0, 21]))?.version, 0x0301);
  t.is(readClientHello(Buffer.from([0x80, 46, 1, 0, 2, 0, 21]))?.version, 0x0002);
});

test('of extensions of one kind the first counts, and of names the first of a host', (t) => {
  t.is(readClientHello(helloWith([namesOf(hostName('one.example')), namesOf(hostName('two.example'))]))?.serverName, 'one.example');
  t.is(
    readClientHello(helloWith([namesOf([9, ...vector(1, 2)], hostName('one.example'), hostName('two.example'))]))?.serverName,
    'one.example',
  );
});

test('malformed vectors make it no hello', (t) => {
  const malformed: [string, number, number[]][] = [
    ['a name longer than the list', 0, vector(0, 0, 9, 97)],
    ['a list longer than the extension', 0, [0, 9, 0, 0, 1, 97]],
    ['an empty extension', 0, []],
    ['a protocol longer than the list', 16, vector(3, 104, 50)],
    ['half a version', 43, [3, 3, 4, 3]],
    ['no session in a list of them', 41, vector()],
  ];
  for (const [what, type, body] of malformed) t.is(readClientHello(helloWith([[type, body]])), null, what);
});

test('what is no hello', (t) => {
  for (const bytes of [
    'GET / HTTP/1.1\r\n',
    'S',
    '\x16\x03\x01\x00\x05hello',
    '\x17\x03\x01\x00\x05hello',
    '\x16\x02\x00\x00\x04\x01\x00\x00\x00',
    '\x16\x03\x01\x00\x04\x01\x00\x00\x00',
    '\x16\x03\x01\x00\x08\x01\x00\x00\x04\xff\xff\xff\xff',
    '\x80\x2e\x02\x03\x01',
  ])
    for (const longest of [16_384, Infinity]) t.is(readClientHello(Buffer.from(bytes, 'latin1'), longest), null, JSON.stringify(bytes));
});

test('a hello of more than 16 KiB, and records without end', (t) => {
  t.is(readClientHello(Buffer.from('\x16\x03\x01\x00\x04\x01\x00\x40\x01', 'latin1')), null);
  t.is(readClientHello(Buffer.from('\x16\x03\x01\x00\x04\x01\x00\x40\x01', 'latin1'), 20_000), undefined, 'with a higher limit');
  t.is(readClientHello(Buffer.from('\x16\x03\x01\x00\x00'.repeat(600), 'latin1')), null);
});

test('any bytes, and any hello with bytes changed, are read without an exception', async (t) => {
  const hello = await typical();
  const read = (bytes: Buffer): void => {
    const said = readClientHello(bytes);
    if (said) t.true(said.serverName.length + said.protocols.join('').length <= bytes.length);
  };
  assert(property(uint8Array({ maxLength: 200 }), (bytes) => read(Buffer.from(bytes))));
  assert(
    property(uint8Array({ maxLength: 100 }), (bytes) => {
      read(Buffer.concat([Buffer.from([0x16, 3, 1, 0, bytes.length, 1, 0, 0, Math.max(bytes.length - 4, 0)]), bytes]));
    }),
  );
  const change = record({ at: nat(hello.length - 1), byte: nat(255) });
  assert(
    property(array(change, { maxLength: 5 }), (changes) => {
      const damaged = Buffer.from(hello);
      for (const { at, byte } of changes) damaged[at] = byte;
      read(damaged);
    }),
  );
});
