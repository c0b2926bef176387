/** Parts of responses (RFC 9111, 3.3 and 3.4; RFC 9110, 14), and parts of queries (No-Vary-Search). */
import { asked, first, row, still, stored, validated, type Row, type Step } from './row.js';

const HOUR = 'Cache-Control: max-age=3600';
const TAG = 'ETag: "a"';

const range = (spec: string, more: Step = {}): Step => ({ ...more, asks: [`Range: bytes=${spec}`] });
/** A part of `0123456789`. */
const part = (from: number, to: number, ...fields: readonly string[]): Step => ({
  status: 206,
  fields: [`Content-Range: bytes ${from}-${to}/10`, ...fields],
  body: '0123456789'.slice(from, to + 1),
});
const whole = (...fields: readonly string[]): Step => ({ status: 200, fields, body: '0123456789' });

export const partialRows: readonly Row[] = [
  row(
    '9110 14.2',
    'ranges of a whole response',
    { ...first(HOUR), body: '0123456789' },
    stored(range('0-1', { gets: 206, hasBody: '01', has: ['Content-Range: bytes 0-1/10'] })),
  ),
  row(
    '9111 3.4',
    'a part of a stored response has its fields',
    { ...first(HOUR, 'A: 1'), body: '0123456789' },
    stored(range('0-1', { gets: 206, hasBody: '01', has: ['A: 1'] })),
  ),
  row('9110 14.2', 'a range up to the end', { ...first(HOUR), body: '0123456789' }, stored(range('7-', { gets: 206, hasBody: '789' }))),
  row('9110 14.2', 'a range of the end', { ...first(HOUR), body: '0123456789' }, stored(range('-1', { gets: 206, hasBody: '9' }))),
  row(
    '9111 3.3',
    'a part is stored',
    range('5-9', { ...part(5, 9, HOUR), from: 'member', sent: ['Range: bytes=5-9'] }),
    stored(range('5-9', { gets: 206, hasBody: '56789', has: ['Content-Range: bytes 5-9/10', 'Age: /^\\d{1,2}$/'] })),
  ),
  row(
    '9111 3.3',
    'a part that is shorter than it says is not stored',
    range('0-9', { ...part(0, 9, HOUR), body: '01234', isChunked: true }),
    asked({ ...whole(HOUR), hasBody: '0123456789' }),
  ),
  row(
    '9111 3.3',
    'a part that is longer than it says is not stored',
    range('0-4', { ...part(0, 4, HOUR), body: '0123456789', isChunked: true }),
    asked(range('0-4', { ...part(0, 4, HOUR), gets: 206, hasBody: '01234' })),
  ),
  row(
    '9111 3.3',
    'a range of a part',
    range('5-9', part(5, 9, HOUR)),
    stored(range('6-7', { gets: 206, hasBody: '67', has: ['Content-Range: bytes 6-7/10', 'Content-Length: 2'] })),
  ),
  row('9111 3.3', 'a range up to the end, of a part', range('5-9', part(5, 9, HOUR)), stored(range('8-', { gets: 206, hasBody: '89' }))),
  row('9111 3.3', 'a range of the end, of a part', range('5-9', part(5, 9, HOUR)), stored(range('-1', { gets: 206, hasBody: '9' }))),
  row(
    '9111 3.3',
    'a range that a part does not have',
    range('5-9', part(5, 9, HOUR)),
    asked(range('0-2', { ...part(0, 2, HOUR), gets: 206, hasBody: '012' })),
  ),
  row(
    '9111 3.3',
    'a part is not used for the whole',
    range('5-9', part(5, 9, HOUR)),
    asked({ ...whole(HOUR), hasBody: '0123456789', sent: ['!Range'] }),
  ),
  row(
    '9111 3.3',
    'the whole takes the place of a part',
    range('5-9', part(5, 9, HOUR)),
    asked(whole(HOUR)),
    stored(range('0-1', { gets: 206, hasBody: '01' })),
  ),
  row(
    '9111 3.4',
    'a part is completed with what is missing',
    range('0-4', part(0, 4, HOUR, TAG)),
    {
      ...part(5, 9, HOUR, TAG),
      gets: 200,
      hasBody: '0123456789',
      has: ['!Content-Range', 'X-Cache: MISS', 'Cache-Status: /^srv; fwd=partial; stored; ttl=\\d+$/'],
      sent: ['Range: bytes=5-9', 'If-Range: "a"'],
    },
    still({ hasBody: '0123456789' }),
  ),
  row('9111 3.4', 'a part is completed with its beginning', range('5-9', part(5, 9, HOUR, TAG)), {
    ...part(0, 4, HOUR, TAG),
    gets: 200,
    hasBody: '0123456789',
    sent: ['Range: bytes=0-4'],
  }),
  row(
    '9111 3.4',
    'parts are joined',
    range('0-2', part(0, 2, HOUR, TAG)),
    range('3-5', { ...part(3, 5, HOUR, TAG), gets: 206, hasBody: '345' }),
    still(range('1-4', { gets: 206, hasBody: '1234' })),
  ),
  row(
    '9111 3.4',
    'of an overlapping range the missing bytes',
    range('0-5', part(0, 5, HOUR, TAG)),
    range('4-8', { ...part(6, 8, HOUR, TAG), gets: 206, hasBody: '45678', sent: ['Range: bytes=6-8'] }),
    still(range('0-8', { gets: 206, hasBody: '012345678' })),
  ),
  row(
    '9111 3.5',
    'with Authorization the whole is requested once',
    range('0-4', part(0, 4, HOUR, TAG)),
    asked({ ...whole(HOUR, TAG), asks: ['Authorization: Basic eA=='], hasBody: '0123456789', sent: ['!Range'], requests: 1 }),
  ),
  row(
    '9111 3.4',
    'parts without a strong ETag are not joined',
    range('0-4', part(0, 4, HOUR, 'ETag: W/"a"')),
    asked({ ...whole(HOUR), sent: ['!Range', '!If-Range'] }),
  ),
  row(
    '9111 3.4',
    'parts of another ETag are not joined',
    range('0-4', part(0, 4, HOUR, TAG)),
    { ...whole(HOUR, 'ETag: "b"'), gets: 200, hasBody: '0123456789', sent: ['If-Range: "a"'] },
    still({ has: ['ETag: "b"'] }),
  ),
  row(
    '9111 3.3',
    'a part that is the whole',
    range('0-', part(0, 9, HOUR)),
    stored({ gets: 200, hasBody: '0123456789', has: ['!Content-Range'] }),
    still(range('0-', { gets: 206, hasBody: '0123456789' })),
  ),
  row(
    '9111 3.3',
    'a part that is not as long as it says is not stored',
    range('4-9', { ...part(4, 9, HOUR), body: '01234' }),
    asked(range('4-9', { ...part(4, 9, HOUR), gets: 206 })),
  ),
  row(
    '9111 3.3',
    'a part of an unknown whole is not stored',
    range('0-1', { status: 206, fields: ['Content-Range: bytes 0-1/*', HOUR], body: '01' }),
    asked(range('0-1', { status: 206, gets: 206 })),
  ),
  row(
    '9111 4.3.1',
    'a stale part is validated',
    range('5-9', part(5, 9, 'Cache-Control: max-age=10', 'Age: 100', TAG)),
    validated(range('6-7', { fields: [HOUR, TAG], gets: 206, hasBody: '67', sent: ['If-None-Match: "a"', '!Range'] })),
  ),
  row(
    '9110 13.1.5',
    'If-Range with the tag of a part',
    range('5-9', part(5, 9, HOUR, TAG)),
    stored({ asks: ['Range: bytes=5-6', 'If-Range: "a"'], gets: 206, hasBody: '56' }),
  ),
  row(
    '9110 13.1.5',
    'If-Range with another tag',
    range('5-9', part(5, 9, HOUR, 'ETag: W/"a"')),
    asked({ ...whole(HOUR), asks: ['Range: bytes=5-6', 'If-Range: "b"'], gets: 200 }),
  ),
  row(
    '9110 14.2',
    'several ranges are cut from the whole',
    range('0-1,3-4', { ...whole(HOUR), gets: 206, sent: ['!Range'] }),
    stored(range('5-6', { gets: 206, hasBody: '56' })),
  ),

  row(
    'No-Vary-Search',
    'params: an argument that does not count',
    { path: '?a=1&utm=x', ...first(HOUR, 'No-Vary-Search: params=("utm")') },
    stored({ path: '?utm=y&a=1', has: ['No-Vary-Search: params=("utm")'] }),
    still({ path: '?a=1' }),
  ),
  row(
    'No-Vary-Search',
    'params: an argument that counts',
    { path: '?a=1&utm=x', ...first(HOUR, 'No-Vary-Search: params=("utm")') },
    stored({ path: '?a=1&utm=y' }),
    asked({ path: '?a=2&utm=x' }),
  ),
  row(
    'No-Vary-Search',
    'params: the order counts',
    { path: '?a=1&b=2', ...first(HOUR, 'No-Vary-Search: params=("utm")') },
    stored({ path: '?a=1&b=2&utm' }),
    asked({ path: '?b=2&a=1' }),
  ),
  row(
    'No-Vary-Search',
    'key-order: the order does not count',
    { path: '?a=1&b=2', ...first(HOUR, 'No-Vary-Search: key-order') },
    stored({ path: '?b=2&a=1' }),
    asked({ path: '?b=2' }),
  ),
  row(
    'No-Vary-Search',
    'params of any name',
    { path: '?a=1', ...first(HOUR, 'No-Vary-Search: params') },
    stored({ path: '?b=2' }),
    still(),
  ),
  row(
    'No-Vary-Search',
    'except',
    { path: '?a=1&b=2', ...first(HOUR, 'No-Vary-Search: params, except=("a")') },
    stored({ path: '?c=3&a=1' }),
    asked({ path: '?a=2&b=2' }),
  ),
  row(
    'No-Vary-Search',
    'encoded arguments are the same',
    { path: '?a=%41', ...first(HOUR, 'No-Vary-Search: params=("utm")') },
    stored({ path: '?%61=A&utm=1' }),
  ),
  row(
    'No-Vary-Search',
    'a malformed field is ignored',
    { path: '?a=1&utm=x', ...first(HOUR, 'No-Vary-Search: params=utm') },
    asked({ path: '?a=1&utm=y' }),
    still({ path: '?a=1&utm=x' }),
  ),
  row(
    'No-Vary-Search',
    'except without params is ignored',
    { path: '?a=1&b=2', ...first(HOUR, 'No-Vary-Search: except=("a")') },
    asked({ path: '?a=1' }),
  ),
  row(
    'No-Vary-Search',
    'a response without the field ends the rule',
    { path: '?a=1&utm=x', ...first(HOUR, 'No-Vary-Search: params=("utm")') },
    stored({ path: '?a=1&utm=y' }),
    asked({ path: '?a=2&utm=x', fields: [HOUR] }),
    stored({ path: '?a=2&utm=x', fields: [HOUR] }),
    asked({ path: '?a=2&utm=z', fields: [HOUR] }),
  ),
  row(
    'No-Vary-Search',
    'POST removes the responses of a path',
    { path: '?a=1&utm=x', ...first(HOUR, 'No-Vary-Search: params=("utm")') },
    stored({ path: '?a=1&utm=y' }),
    asked({ method: 'POST', path: '?a=1&utm=z' }),
    asked({ path: '?a=1&utm=x', fields: [HOUR] }),
  ),
  row(
    'No-Vary-Search',
    'Vary as well',
    { path: '?utm=x', asks: ['Foo: 1'], ...first(HOUR, 'Vary: Foo', 'No-Vary-Search: params=("utm")') },
    stored({ path: '?utm=y', asks: ['Foo: 1'] }),
    asked({ path: '?utm=x', asks: ['Foo: 2'] }),
    stored({ path: '?utm=z', asks: ['Foo: 2'] }),
  ),
];
