import test from 'ava';
import { nearest } from '../../core/contract/suggest.js';

const NAMES = ['listen', 'server', 'server_name', 'proxy_pass', 'proxy_set_header', 'root', 'if'];

for (const [written, meant] of [
  ['lisen', 'listen'],
  ['litsen', 'listen'],
  ['ilstne', 'listen'],
  ['sever', 'server'],
  ['servername', 'server_name'],
  ['proxypass', 'proxy_pass'],
  ['proxy_set_heder', 'proxy_set_header'],
  ['toor', 'root'],
  ['fi', 'if'],
] as const) {
  test(`${written} means ${meant}`, (t) => t.is(nearest(written, NAMES), meant));
}

for (const written of ['captcha', 'x', 'set', '', 'proxy_buffering']) {
  test(`"${written}" means none of them`, (t) => t.is(nearest(written, NAMES), undefined));
}

test('a name of one letter means no other', (t) => t.is(nearest('x', ['', 'w', 'xy']), undefined));
