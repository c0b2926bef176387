import test from 'ava';
import { binaryAddress, plainAddress } from '../../core/contract/binary-address.js';

for (const [address, hex] of [
  ['127.0.0.1', '7f000001'],
  ['255.10.0.200', 'ff0a00c8'],
  ['::1', '00000000000000000000000000000001'],
  ['::', '00000000000000000000000000000000'],
  ['2001:db8::ff00:42:8329', '20010db8000000000000ff0000428329'],
  ['1:2:3:4:5:6:7:8', '00010002000300040005000600070008'],
  ['::ffff:10.0.0.1', '00000000000000000000ffff0a000001'],
  ['fe80::1%eth0', 'fe800000000000000000000000000001'],
] as const)
  test(`the bytes of ${address}`, (t) => {
    t.is(Buffer.from(binaryAddress(address), 'latin1').toString('hex'), hex);
  });

test('a unix socket is its name', (t) => {
  t.is(binaryAddress('unix:'), 'unix:');
});

for (const [address, plain] of [
  ['10.0.0.1', '10.0.0.1'],
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['::ffff:a00:1', '10.0.0.1'],
  ['0:0:0:0:0:FFFF:0a00:0001', '10.0.0.1'],
  ['::1', '::1'],
  ['::10.0.0.1', '::10.0.0.1'],
  ['unix:', 'unix:'],
] as const)
  test(`the plain form of ${address}`, (t) => {
    t.is(plainAddress(address), plain);
  });
