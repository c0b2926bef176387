import test from 'ava';
import { BrowserGuard } from '../../core/api/browser-guard.js';

function refusal(
  headers: Readonly<Record<string, string>>,
  { names = [], localAddress = '127.0.0.1' }: { names?: string[]; localAddress?: string } = {},
): string | undefined {
  return new BrowserGuard(names).refusal({ header: (name) => headers[name], localAddress })?.code;
}

test('loopback names, the address of the listener and the names of the server are let in, nothing else', (t) => {
  for (const host of [
    'localhost',
    'localhost:8081',
    'LOCALHOST:8081',
    '127.0.0.1:8081',
    '127.8.0.1',
    '[::1]',
    '[::1]:8081',
    'localhost.',
  ]) {
    t.is(refusal({ host }), undefined, host);
  }
  for (const host of [
    'evil.example',
    'evil.example:8081',
    '10.0.0.5',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '[::2]',
    '',
    'xlocalhost',
  ]) {
    t.is(refusal({ host }), 'ForbiddenHost', host);
  }
  t.is(refusal({ host: '10.0.0.5:8081' }, { localAddress: '10.0.0.5' }), undefined);
  t.is(refusal({ host: '10.0.0.5:8081' }, { localAddress: '::ffff:10.0.0.5' }), undefined);
  t.is(refusal({ host: '[fd00::5]:8081' }, { localAddress: 'fd00::5' }), undefined);
  const names = ['api.corp', '*.admin.corp', '.ops.corp'];
  for (const host of ['api.corp', 'API.corp:8081', 'x.admin.corp', 'ops.corp', 'a.ops.corp'])
    t.is(refusal({ host }, { names }), undefined, host);
  for (const host of ['admin.corp', 'xapi.corp', 'evilops.corp']) t.is(refusal({ host }, { names }), 'ForbiddenHost', host);
});

test('a client without a Host (HTTP/1.0) is no browser', (t) => {
  t.is(refusal({}), undefined);
});

test('pages of other sites are kept out by Origin and by Sec-Fetch-Site', (t) => {
  const host = 'localhost:8081';
  t.is(refusal({ host, origin: 'http://localhost:8081' }), undefined);
  t.is(refusal({ host, origin: 'http://localhost:8081', 'sec-fetch-site': 'same-origin' }), undefined);
  t.is(refusal({ host, 'sec-fetch-site': 'none' }), undefined);
  for (const origin of ['http://evil.example', 'null', 'http://localhost:8080', 'https://localhost', 'file://'])
    t.is(refusal({ host, origin }), 'ForbiddenOrigin', origin);
  t.is(refusal({ host, 'sec-fetch-site': 'cross-site' }), 'ForbiddenOrigin');
  t.is(refusal({ host, 'sec-fetch-site': 'same-site' }), 'ForbiddenOrigin');
});
