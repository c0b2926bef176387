/** Validation, freshening, selection and stored fields (RFC 9111, 3, 4.1 and 4.3; RFC 9110, 8.8 and 13). */
import { asked, first, row, stored, validated, type Row, type Step } from './row.js';

const HOUR = 'Cache-Control: max-age=3600';
const SHORT = 'Cache-Control: max-age=10';
const AGED = 'Age: 100';
const TAG = 'ETag: "a"';
const MODIFIED = 'Last-Modified: {-10000}';

const asks = (...lines: string[]): Step => ({ asks: lines });

const UPDATED: readonly (readonly [name: string, before: string, after: string])[] = [
  ['Test-Header', 'before', 'after'],
  ['X-Test-Header', 'before', 'after and longer'],
  ['Content-Foo', 'before', 'after'],
  ['X-Content-Foo', 'before', 'x'],
  ['Content-Type', 'text/plain', 'text/plain;charset=utf-8'],
  ['Content-MD5', 'rL0Y20zC+Fzt72VPzMSk2A==', 'N7UdGUp1E+RbVvZSTy1R8g=='],
  ['Content-Location', '/foo', '/bar'],
  ['Content-Security-Policy', "default-src 'self'", "default-src 'self' cdn.example.com"],
  ['X-Frame-Options', 'deny', 'sameorigin'],
  ['X-XSS-Protection', '1', '1; mode=block'],
  ['Expires', 'Fri, 01 Jan 2038 01:01:01 GMT', 'Mon, 11 Jan 2038 11:11:11 GMT'],
  ['Clear-Site-Data', 'cache', 'cookies'],
  ['Public-Key-Pins', 'before', 'after'],
  ['Set-Cookie', 'a=b', 'a=c'],
  ['Set-Cookie2', 'a=b', 'a=c'],
];

const KEPT = [
  'Content-Type: text/plain',
  'X-Frame-Options: deny',
  'Set-Cookie: a=b',
  'Strict-Transport-Security: max-age=1',
  'WWW-Authenticate: x',
  'Vary-Not: 1',
  'Test-Header: x',
  'Content-Foo: x',
  'Content-Encoding: x',
  'Content-Location: /foo',
  'Content-MD5: rL0Y20zC+Fzt72VPzMSk2A==',
  'Content-Range: x',
  "Content-Security-Policy: default-src 'self'",
  'Content-Disposition: attachment; filename=a.txt',
  'Clear-Site-Data: cookies',
  'Expires: Mon, 11 Jan 2038 11:11:11 GMT',
  'Public-Key-Pins: x',
  'Set-Cookie2: a=b',
  'X-XSS-Protection: 1; mode=block',
];
const NOT_KEPT = [
  'Proxy-Authenticate: x',
  'Proxy-Authentication-Info: x',
  'Proxy-Authorization: x',
  'Proxy-Connection: x',
  'TE: x',
  'Keep-Alive: timeout=77',
  'Upgrade: x',
];

const ONE = asks('Foo: 1');
const TWO = asks('Foo: 2');

export const validationRows: readonly Row[] = [
  row(
    '9111 4.3.1',
    'a stale response with an ETag is validated',
    first(SHORT, AGED, TAG),
    validated({ sent: ['If-None-Match: "a"'], gets: 200, hasBody: 'body' }),
  ),
  row('9111 4.3.1', 'a weak ETag as well', first(SHORT, AGED, 'ETag: W/"a"'), validated({ sent: ['If-None-Match: W/"a"'] })),
  row('9111 4.3.1', 'Last-Modified as well', first(SHORT, AGED, MODIFIED), validated({ sent: ['If-Modified-Since: /GMT$/'] })),
  row(
    '9111 4.3.1',
    'both validators are sent',
    first(SHORT, AGED, TAG, MODIFIED),
    validated({ sent: ['If-None-Match: "a"', 'If-Modified-Since: /GMT$/'] }),
  ),
  row(
    '9111 4.3.3',
    'a full response takes the place of the stored one',
    first(SHORT, AGED, TAG),
    asked({ fields: [HOUR], body: 'new', hasBody: 'new' }),
    stored({ hasBody: 'new' }),
  ),
  row(
    '9111 4.3.1',
    'a validation has the fields of Vary',
    { ...asks('Foo: 1'), ...first(SHORT, AGED, TAG, 'Vary: Foo') },
    validated({ ...ONE, sent: ['Foo: 1'] }),
  ),
  ...[TAG, MODIFIED].map((validator) =>
    row(
      '9111 4.3.4',
      `fields that a 304 omits stay (${validator.slice(0, 4)})`,
      first(SHORT, AGED, validator, 'Test-Header: a'),
      validated({ fields: [HOUR], has: ['Test-Header: a'] }),
    ),
  ),
  ...[TAG, MODIFIED].flatMap((validator) =>
    UPDATED.map(([name, before, after]) =>
      row(
        '9111 3.2',
        `a 304 changes ${name} (${validator.slice(0, 4)})`,
        first(SHORT, AGED, validator, `${name}: ${before}`),
        validated({
          fields: [HOUR, validator, `${name}: ${after}`],
          has: [`${name}: ${after}`],
        }),
        stored({ has: [`${name}: ${after}`, HOUR], hasBody: 'body' }),
      ),
    ),
  ),
  row(
    '9111 3.2',
    'a 304 changes Cache-Control',
    first(SHORT, AGED, TAG),
    validated({ fields: [HOUR, TAG] }),
    stored({ has: [HOUR, 'Age: /^\\d{1,2}$/'] }),
  ),
  row(
    '9111 3.2',
    'a 304 does not change Content-Encoding',
    first(SHORT, AGED, TAG, 'Content-Encoding: x'),
    validated({ fields: [HOUR, TAG, 'Content-Encoding: y'], has: ['Content-Encoding: x'] }),
  ),
  row(
    '9111 4.3.4',
    'a 304 with another ETag changes nothing',
    first(SHORT, AGED, TAG),
    validated({ fields: [HOUR, 'ETag: "b"'], has: [TAG], hasBody: 'body' }),
    validated({ fields: [HOUR, TAG], sent: ['If-None-Match: "a"'] }),
  ),
  row(
    '9111 3.2',
    'a 304 changes Last-Modified',
    first(SHORT, AGED, TAG, 'Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT'),
    validated({ fields: [HOUR, TAG, 'Last-Modified: Mon, 07 Nov 1994 08:49:37 GMT'] }),
    stored({ asks: ['If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT'], gets: 200 }),
  ),
  row(
    '9111 4.2.3',
    'the Age of a 304 counts',
    first(SHORT, AGED, TAG),
    validated({ fields: [HOUR, TAG, 'Age: 50'] }),
    stored({ has: ['Age: /^[5-9]\\d$/'] }),
  ),
  row(
    '9111 4.3.3',
    'a 304 is for the validation, and the client gets its 304',
    first(SHORT, AGED, MODIFIED),
    validated({ asks: ['If-Modified-Since: {-9000}'], gets: 304 }),
  ),

  row(
    '9111 4.3.2',
    'If-None-Match of a fresh response',
    first(HOUR, TAG),
    stored({ asks: ['If-None-Match: "a"'], gets: 304, has: [TAG, HOUR] }),
  ),
  row('9111 4.3.2', 'If-None-Match of another', first(HOUR, TAG), stored({ asks: ['If-None-Match: "b"'], gets: 200 })),
  row('9111 4.3.2', 'If-None-Match with a weak tag', first(HOUR, 'ETag: W/"a"'), stored({ asks: ['If-None-Match: W/"a"'], gets: 304 })),
  ...['"a", "1", "2"', '"1", "a", "2"', '"1", "2", "a"', '*'].map((list) =>
    row('9111 4.3.2', `If-None-Match: ${list}`, first(HOUR, TAG), stored({ asks: [`If-None-Match: ${list}`], gets: 304 })),
  ),
  row(
    '9111 4.3.2',
    'If-None-Match before If-Modified-Since',
    first(HOUR, TAG, MODIFIED),
    stored({ asks: ['If-None-Match: "a"', 'If-Modified-Since: {-20000}'], gets: 304 }),
  ),
  row(
    '9111 4.3.2',
    'If-None-Match that differs before If-Modified-Since',
    first(HOUR, TAG, MODIFIED),
    stored({ asks: ['If-None-Match: "b"', 'If-Modified-Since: {0}'], gets: 200 }),
  ),
  row(
    '9111 4.3.2',
    'If-Modified-Since of the same time',
    first(HOUR, 'Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT'),
    stored({ asks: ['If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT'], gets: 304 }),
  ),
  row('9111 4.3.2', 'a later If-Modified-Since', first(HOUR, MODIFIED), stored({ asks: ['If-Modified-Since: {-9000}'], gets: 304 })),
  row('9111 4.3.2', 'an earlier If-Modified-Since', first(HOUR, MODIFIED), stored({ asks: ['If-Modified-Since: {-11000}'], gets: 200 })),
  row(
    '9111 4.3.2',
    'If-Modified-Since in the form of RFC 850',
    first(HOUR, 'Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT'),
    stored({ asks: ['If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT'], gets: 304 }),
  ),
  row(
    '9111 4.3.2',
    'If-Modified-Since without Last-Modified is about Date',
    first(HOUR, 'Date: {-60}'),
    stored({ asks: ['If-Modified-Since: {-30}'], gets: 304 }),
  ),
  row('9111 4.3.2', 'If-Modified-Since before Date', first(HOUR, 'Date: {-60}'), stored({ asks: ['If-Modified-Since: {-90}'], gets: 200 })),

  { ...row('9111 4.3.5', 'HEAD is passed on as it is', first(SHORT, AGED), asked({ method: 'HEAD', sentMethod: 'HEAD' })), at: '/heads/' },
  {
    ...row(
      '9111 4.3.5',
      'the response to a HEAD makes the stored one fresh',
      first(SHORT, AGED, 'ETag: "a"', 'Stale-While: 1'),
      { method: 'HEAD', fields: [HOUR, TAG, 'A: 2'], sentMethod: 'HEAD' },
      stored({ has: ['A: 2', 'Stale-While: 1'], hasBody: 'body' }),
    ),
    at: '/heads/',
  },
  {
    ...row(
      '9111 4.3.5',
      'the response to a HEAD about another body removes the stored one',
      first(HOUR, TAG),
      { method: 'HEAD', asks: ['Cache-Control: no-cache'], fields: [HOUR, 'ETag: "b"'] },
      asked({ fields: [HOUR] }),
    ),
    at: '/heads/',
  },
  {
    ...row('9110 9.3.2', 'the response to a HEAD is not stored', { method: 'HEAD', ...first(HOUR) }, asked({ method: 'HEAD' })),
    at: '/heads/',
  },
  row('9110 9.3.2', 'HEAD of what is stored', first(HOUR), stored({ method: 'HEAD', hasBody: '', has: ['Content-Length: 4'] })),

  row('9111 4.1', 'Vary and equal fields', { ...ONE, ...first(HOUR, 'Vary: Foo') }, stored(ONE)),
  row('9111 4.1', 'Vary and other fields', { ...ONE, ...first(HOUR, 'Vary: Foo') }, asked(TWO)),
  row('9111 4.1', 'Vary and no such field', { ...ONE, ...first(HOUR, 'Vary: Foo') }, asked()),
  row('9111 4.1', 'Vary, with the field only in the second request', first(HOUR, 'Vary: Foo'), asked(ONE)),
  row(
    '9111 4.1',
    'a variant leaves the other ones',
    { ...ONE, ...first(HOUR, 'Vary: Foo'), body: '1' },
    asked({ ...TWO, body: '2' }),
    stored({ ...ONE, hasBody: '1' }),
    stored({ ...TWO, hasBody: '2' }),
  ),
  row(
    '9111 4.1',
    'fields that Vary does not name',
    { ...asks('Foo: 1', 'Other: 2'), ...first(HOUR, 'Vary: Foo') },
    stored(asks('Foo: 1', 'Other: 3')),
  ),
  row(
    '9111 4.1',
    'Vary with three fields',
    { ...asks('Foo: 1', 'Bar: a', 'Baz: 7'), ...first(HOUR, 'Vary: Foo, Bar', 'Vary: Baz') },
    stored(asks('Baz: 7', 'Bar: a', 'Foo: 1')),
  ),
  row(
    '9111 4.1',
    'Vary with three fields, of which one differs',
    { ...asks('Foo: 1', 'Bar: a', 'Baz: 7'), ...first(HOUR, 'Vary: Foo, Bar, Baz') },
    asked(asks('Foo: 1', 'Bar: ab', 'Baz: 7')),
  ),
  row(
    '9111 4.1',
    'Vary with fields that neither request has',
    { ...asks('Foo: 1', 'Baz: 7'), ...first(HOUR, 'Vary: Foo, Bar, Baz') },
    stored(asks('Foo: 1', 'Baz: 7')),
  ),
  row('9111 4.1', 'Vary has no case', { ...ONE, ...first(HOUR, 'Vary: fOO') }, stored(ONE)),
  row('9111 4.1', 'spaces around commas are nothing', { ...asks('Foo: 1,2'), ...first(HOUR, 'Vary: Foo') }, stored(asks('Foo:  1 ,  2 '))),
  row('9111 4.1', 'several fields are one list', { ...asks('Foo: 1, 2'), ...first(HOUR, 'Vary: Foo') }, stored(asks('Foo: 1', 'Foo: 2'))),
  row('9111 4.1', 'spaces in values are something', { ...asks('Foo: 1 2'), ...first(HOUR, 'Vary: Foo') }, asked(asks('Foo: 12'))),
  row(
    '9111 4.1',
    'languages have no case',
    { ...asks('Accept-Language: en, de'), ...first(HOUR, 'Vary: Accept-Language') },
    stored(asks('Accept-Language: eN, De')),
  ),
  row(
    '9111 4.1',
    'languages of one weight have no order',
    { ...asks('Accept-Language: en, de'), ...first(HOUR, 'Vary: Accept-Language') },
    stored(asks('Accept-Language: de, en')),
  ),
  row(
    '9111 4.1',
    'languages have the order of their weights',
    { ...asks('Accept-Language: en, de;q=0.5'), ...first(HOUR, 'Vary: Accept-Language') },
    asked(asks('Accept-Language: en;q=0.5, de')),
  ),
  ...['*', '*, *', ', *', '*, Foo', 'Foo, *'].map((vary) =>
    row('9111 4.1', `Vary: ${vary}`, { ...ONE, ...first(HOUR, `Vary: ${vary}`) }, asked(ONE)),
  ),
  row('9111 4.1', 'Vary: * in a second field', { ...ONE, ...first(HOUR, 'Vary: Foo', 'Vary: *') }, asked(ONE)),

  ...KEPT.map((line) => row('9111 3.1', `stored: ${line}`, first(HOUR, line), stored({ has: [line] }))),
  ...NOT_KEPT.map((line) => row('9111 3.1', `not stored: ${line}`, first(HOUR, line), stored({ has: [`!${line}`] }))),
  row(
    '9111 3.1',
    'fields that Connection names are not stored',
    first(HOUR, 'Connection: a, b', 'A: 1', 'B: 2', 'C: 3'),
    stored({ has: ['!A', '!B', 'C: 3'] }),
  ),
  row('9111 2', 'the query is a part of the key', { path: '?a=1', ...first(HOUR) }, asked({ path: '?a=2' }), stored({ path: '?a=1' })),
  row('9111 2', 'a response to a query is reused', { path: '?a=1', ...first(HOUR) }, stored({ path: '?a=1' })),
  row('9211 2.1', 'Cache-Status of a stored response', first(HOUR), stored({ has: ['Cache-Status: /^srv; hit; ttl=3\\d\\d\\d$/'] })),
  row('9211 2.2', 'Cache-Status of a new one', {
    ...first(HOUR),
    has: ['Cache-Status: /^srv; fwd=uri-miss; fwd-status=200; stored; ttl=3\\d\\d\\d$/'],
  }),
  row(
    '9211 2.2',
    'Cache-Status of one that varies',
    { ...ONE, ...first(HOUR, 'Vary: Foo') },
    stored(ONE),
    asked({ ...TWO, has: ['Cache-Status: /fwd=vary-miss/'] }),
  ),
  row(
    '9211 2.2',
    'Cache-Status of a validation',
    first(SHORT, AGED, TAG),
    validated({ fields: [HOUR, TAG], has: ['Cache-Status: /^srv; fwd=stale; fwd-status=304; ttl=3\\d\\d\\d$/'] }),
  ),
  row(
    '9211 2.2',
    'Cache-Status of what the client wants fresh',
    first(HOUR, TAG),
    validated({ asks: ['Cache-Control: no-cache'], has: ['Cache-Status: /fwd=request/'] }),
  ),
];
