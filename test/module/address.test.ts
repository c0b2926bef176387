import test from 'ava';
import { AddressError, canonicalAddress, parseAddress } from '../../core/contract/address.js';

const ACCEPTED: Record<string, string> = {
  '10.0.0.1': '10.0.0.1:80',
  '10.0.0.1:8080': '10.0.0.1:8080',
  '[::1]': '[::1]:80',
  '[2001:DB8::1]:443': '[2001:db8::1]:443',
  '[0:0:0::0:1]': '[::1]:80',
  'unix:/run/app.sock': 'unix:/run/app.sock',
  'backend.example': 'name backend.example:80',
  'Backend-1.example:8080': 'name backend-1.example:8080',
  my_service: 'name my_service:80',
  'localhost.': 'name localhost.:80',
};

for (const [text, expected] of Object.entries(ACCEPTED)) {
  test(`accepted: ${text}`, (t) => {
    const parsed = parseAddress(text, 80);
    t.is(('name' in parsed ? 'name ' : '') + canonicalAddress(parsed), expected);
  });
}

const REFUSED: Record<string, string> = {
  '': 'no host',
  ':80': 'no host',
  '[]:80': 'no host',
  '10.0.0.1:': 'invalid port',
  '10.0.0.1:0': 'invalid port',
  '10.0.0.1:99999': 'invalid port',
  '10.0.0.1:80a': 'invalid port',
  '10.0.0.1:80:80': 'invalid port',
  '[::1]:0': 'invalid port',
  '300.1.1.1': 'invalid host',
  '300.1.1.1:80': 'invalid host',
  '10.0.0': 'invalid host',
  '1234': 'invalid host',
  'a b': 'invalid host',
  'a..b': 'invalid host',
  exa$mple: 'invalid host',
  '-a.example': 'invalid host',
  'http://a': 'invalid host',
  '[::1': 'invalid host',
  '[::1]80': 'invalid host',
  '[::g]:80': 'invalid IPv6 address',
  '[fe80::1%eth0]:80': 'invalid IPv6 address',
  'unix:': 'no path in the unix domain socket',
  [`unix:/${'x'.repeat(107)}`]: 'too long path in the unix domain socket',
};

for (const [text, reason] of Object.entries(REFUSED)) {
  test(`rejected: "${text.slice(0, 30)}"`, (t) => {
    const error = t.throws(() => parseAddress(text, 80), { instanceOf: AddressError });
    t.is(error.message, `${reason} in upstream "${text}"`);
  });
}

test('without a default port one is needed', (t) => {
  t.throws(() => parseAddress('10.0.0.1', undefined), { message: 'no port in upstream "10.0.0.1"' });
  t.throws(() => parseAddress('[::1]', undefined), { message: 'no port in upstream "[::1]"' });
});
