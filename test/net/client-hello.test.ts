import { Duplex } from 'node:stream';
import { connect } from 'node:tls';
import test from 'ava';
import { helloServerName } from '../../core/net/prelude/client-hello.js';

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
  for (let at = 0; at < message.length; at += 50) {
    const part = message.subarray(at, at + 50);
    records.push(Buffer.from([0x16, 3, 1, 0, part.length]), part);
  }
  t.is(helloServerName(Buffer.concat(records)), 'a.example');
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
