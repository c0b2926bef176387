import test from 'ava';
import { parseProxyHeader } from '../../core/net/prelude/proxy-header.js';
import { tlvReader } from '../../core/net/prelude/proxy-tlv.js';
import { proxyHeader2, tlv } from './proxy-header-bytes.js';

const read = (text: string) => parseProxyHeader(Buffer.from(text, 'latin1'));

const FROM_V4 = { address: '192.0.2.1', port: 5000 };
const TO_V4 = { address: '203.0.113.7', port: 80 };

test('version 1', (t) => {
  const line = 'PROXY TCP4 192.0.2.1 203.0.113.7 5000 80\r\n';
  t.like(read(`${line}GET /`), { end: line.length, header: { source: FROM_V4, destination: TO_V4 } });
  t.like(read('PROXY TCP6 2001:db8::1 ::1 1 65535\r\n'), { header: { source: { address: '2001:db8::1', port: 1 } } });
  t.like(read('PROXY UNKNOWN\r\nGET /'), { end: 15, header: { source: undefined } });
  t.like(read('PROXY UNKNOWN ff::1 ff::2 1 2\r\n'), { end: 31, header: { source: undefined } });
});

test('version 2', (t) => {
  const bytes = proxyHeader2({ from: '192.0.2.1', to: '203.0.113.7', ports: [5000, 80], tlvs: tlv(2, 'a.example') });
  t.like(parseProxyHeader(Buffer.concat([bytes, Buffer.from('GET /')])), {
    end: bytes.length,
    header: { source: FROM_V4, destination: TO_V4, tlvs: tlv(2, 'a.example') },
  });
  t.like(parseProxyHeader(proxyHeader2({ from: '2001:db8::1', to: '::ffff:1.2.3.4', ports: [1, 2] })), {
    header: { source: { address: '2001:db8::1', port: 1 }, destination: { address: '::ffff:1.2.3.4', port: 2 } },
  });
  t.like(parseProxyHeader(proxyHeader2({ command: 0 })), { header: { source: undefined } }, 'LOCAL: a health check of the proxy');
  t.like(parseProxyHeader(proxyHeader2({ kind: 0x31 })), { header: { source: undefined } }, 'unix sockets have no address that is told');
  t.like(parseProxyHeader(proxyHeader2({ kind: 0x12 })), { header: { source: undefined } }, 'UDP');
});

test('no part of a header is a header, or a broken one', (t) => {
  for (const header of [Buffer.from('PROXY TCP4 192.0.2.1 203.0.113.7 5000 80\r\n'), proxyHeader2({ tlvs: tlv(5, 'x'.repeat(300)) })]) {
    for (let length = 0; length < header.length; length++) t.is(parseProxyHeader(header.subarray(0, length)), undefined, `${length}`);
    t.is(parseProxyHeader(header)?.end, header.length);
  }
});

const broken: Readonly<Record<string, string | Buffer>> = {
  'no header': 'GET / HTTP/1.1\r\n',
  'lower case': 'proxy TCP4 192.0.2.1 203.0.113.7 5000 80\r\n',
  'other family': 'PROXY UDP4 192.0.2.1 203.0.113.7 5000 80\r\n',
  'address of the other family': 'PROXY TCP4 ::1 203.0.113.7 5000 80\r\n',
  'no address': 'PROXY TCP4 192.0.2 203.0.113.7 5000 80\r\n',
  'port too high': 'PROXY TCP4 192.0.2.1 203.0.113.7 65536 80\r\n',
  'no port': 'PROXY TCP4 192.0.2.1 203.0.113.7 5000\r\n',
  'one field more': 'PROXY TCP4 192.0.2.1 203.0.113.7 5000 80 90\r\n',
  'two spaces': 'PROXY TCP4  192.0.2.1 203.0.113.7 5000 80\r\n',
  'a line of 200 bytes': `PROXY UNKNOWN ${'a'.repeat(200)}\r\n`,
  'a line without end': `PROXY UNKNOWN ${'a'.repeat(200)}`,
  'text without a line end': 'PROXY hello',
  'a family without a line end': 'PROXY TCP5 ',
  'no digits, without a line end': 'PROXY TCP4 192.0.2.x',
  'an address with a zone': 'PROXY TCP6 fe80::1%lo fe80::2 1 2\r\n',
  'other version': proxyHeader2({ version: 3 }),
  'longer than 4096 bytes': proxyHeader2({ tlvs: Buffer.alloc(5000) }),
  'too short for its addresses': proxyHeader2({ length: 10 }),
};

for (const [name, bytes] of Object.entries(broken)) {
  test(`broken: ${name}`, (t) => t.is(parseProxyHeader(Buffer.from(bytes as string, 'latin1')), null));
}

test('TLVs by name and number', (t) => {
  const ssl = Buffer.concat([Buffer.from([1, 0, 0, 0, 7]), tlv(0x21, 'TLSv1.3'), tlv(0x22, 'c.example')]);
  const tlvs = Buffer.concat([tlv(1, 'h2'), tlv(0x20, ssl), tlv(0xe1, '\xff'), tlv(5, '')]);
  const value = (name: string): string | undefined => tlvReader(name)?.(tlvs);
  t.is(value('alpn'), 'h2');
  t.is(value('ssl_version'), 'TLSv1.3');
  t.is(value('ssl_cn'), 'c.example');
  t.is(value('ssl_cipher'), undefined);
  t.is(value('ssl_verify'), '7');
  t.is(value('0xE1'), '\xff');
  t.is(value('0x000e1'), '\xff');
  t.is(tlvReader('0x1e1'), undefined);
  t.is(value('0x01'), 'h2');
  t.is(value('unique_id'), '');
  t.is(value('authority'), undefined);
  t.is(tlvReader('nonsense'), undefined);
  t.is(tlvReader('authority')?.(Buffer.from([2, 0, 9, 65])), undefined, 'cut off');
});
