import test from 'ava';
import { parseClientAddress } from '../../core/contract/network.js';

const read = (text: string): string | undefined => {
  const found = parseClientAddress(text);
  return found && `${found.address} ${found.port}`;
};

test('addresses of clients, with a port or without', (t) => {
  t.is(read('192.0.2.1'), '192.0.2.1 0');
  t.is(read('192.0.2.1:80'), '192.0.2.1 80');
  t.is(read('2001:DB8:0:0::1'), '2001:db8::1 0');
  t.is(read('[2001:db8::1]'), '2001:db8::1 0');
  t.is(read('[2001:db8::1]:65535'), '2001:db8::1 65535');
});

test('what is none', (t) => {
  for (const text of [
    '',
    'a.example',
    '192.0.2',
    '192.0.2.1:',
    '192.0.2.1:65536',
    '[192.0.2.1]',
    '[::1',
    '::1]:80',
    'fe80::1%eth0',
    'unix:',
    ':80',
    `${':'.repeat(50_000)}[`,
  ]) {
    t.is(read(text), undefined, text.slice(0, 50));
  }
});
