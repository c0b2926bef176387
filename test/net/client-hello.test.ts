import { Duplex } from 'node:stream';
import { connect } from 'node:tls';
import test from 'ava';
import { readClientHello } from '../../core/net/prelude/client-hello.js';

const helloServerName = (bytes: Buffer): string | undefined => readClientHello(bytes)?.serverName;

/** What a client sends first. */
function helloOf(servername: string | undefined): Promise<Buffer> {
  return new Promise((resolve) => {
    const wire = new Duplex({
      read: () => undefined,
      write: (chunk: Buffer) => resolve(chunk),
    });
    connect({ socket: wire, ...(servername === undefined ? {} : { servername }), ALPNProtocols: ['h2'] }).on('error', () => undefined);
  });
}

test('the server name of a hello, however it is cut', async (t) => {
  const hello = await helloOf('A.Example');
  for (let length = 0; length < hello.length; length++) t.is(helloServerName(hello.subarray(0, length)), undefined, `${length} bytes`);
  t.is(helloServerName(hello), 'a.example');
  t.is(helloServerName(Buffer.concat([hello, hello])), 'a.example');
});

test('a hello in several records', async (t) => {
  const hello = await helloOf('a.example');
  const message = hello.subarray(5);
  const records: Buffer[] = [];
  const size = Math.ceil(message.length / 6);
  for (let at = 0; at < message.length; at += size) {
    const part = message.subarray(at, at + size);
    records.push(Buffer.from([0x16, 3, 1, part.length >> 8, part.length & 255]), part);
  }
  t.is(helloServerName(Buffer.concat(records)), 'a.example');
});

test('records without end are left to the handshake', (t) => {
  t.is(helloServerName(Buffer.from('\x16\x03\x01\x00\x01\x01'.repeat(20), 'latin1')), '');
  t.is(helloServerName(Buffer.from('\x16\x03\x01\x00\x00'.repeat(20), 'latin1')), '');
});

test('no name', async (t) => {
  t.is(helloServerName(await helloOf(undefined)), '');
});

test('what is no hello is left to the handshake', (t) => {
  for (const bytes of [
    '\x16\x03\x01\x00\x05hello',
    '\x17\x03\x01\x00\x05hello',
    '\x16\x03\x01\x00\x04\x01\xff\xff\xff',
    `\x16\x03\x01\x00\x08\x01\x00\x00\x04\xff\xff\xff\xff`,
  ]) {
    t.is(helloServerName(Buffer.from(bytes, 'latin1')), '');
  }
});

test('lengths that point behind the end do no harm', async (t) => {
  const hello = await helloOf('a.example');
  for (let at = 5; at < hello.length; at++) {
    const damaged = Buffer.from(hello);
    damaged[at] = 0xff;
    t.notThrows(() => helloServerName(damaged), `byte ${at}`);
  }
});
