/** Pure parts of `proxy_cache_rules rfc9111`: what any text of a member or a client becomes. */
import test from 'ava';
import { array, assert, boolean, constantFrom, integer, nat, option, property, stringMatching, tuple, uniqueArray } from 'fast-check';
import { birthOf, parseAge } from '../../modules/cache/rfc9111/age.js';
import { isUnqualified, namesOf, parseCacheControl, parseTargeted, secondsOf } from '../../modules/cache/rfc9111/cache-control.js';
import { parseDate } from '../../modules/cache/rfc9111/dates.js';
import { parseDictionary } from '../../modules/cache/rfc9111/dictionary.js';
import { freshenedLines, linesOf, storedLines, textOf, type Line } from '../../modules/cache/rfc9111/fields.js';
import { referredKeys } from '../../modules/cache/rfc9111/invalidation.js';
import { normalQuery, parseNoVarySearch } from '../../modules/cache/rfc9111/no-vary-search.js';
import { contains, missingSpan, parseContentRange, union, wantedSpan } from '../../modules/cache/rfc9111/partial.js';
import { NO_TERMS, requestTerms } from '../../modules/cache/rfc9111/request-terms.js';
import { selectingValue } from '../../modules/cache/rfc9111/selection.js';

const NOW = Date.UTC(2026, 10, 23);
const token = stringMatching(/^[a-z][a-z0-9-]{0,8}$/);
const fieldText = stringMatching(/^[ -~]{0,40}$/);

const parsedDictionary = (text: string): unknown => {
  const found = parseDictionary(text);
  return found && Object.fromEntries([...found].map(([key, { value }]) => [key, value]));
};
const keysFor = (reference: string): readonly string[] =>
  referredKeys('httpmember/a?b', ['/a?b'], ['web.test:80', 'member'], [undefined, reference]);

test('directives come back as they were written, in any case and with any spaces', (t) => {
  assert(
    property(uniqueArray(tuple(token, option(nat())), { selector: ([name]) => name }), boolean(), (list, isQuoted) => {
      const text = list
        .map(([name, value]) => (value === null ? name.toUpperCase() : `${name}=${isQuoted ? `"${value}"` : value}`))
        .join(' ,\t');
      const control = parseCacheControl(text);
      t.deepEqual(
        [...control.keys()],
        list.map(([name]) => name),
      );
      for (const [name, value] of list) t.is(secondsOf(control, name), value === null ? NaN : Math.min(value, 2 ** 31));
    }),
  );
});

test('no text makes a directive of what is in quotes, nor an error', (t) => {
  assert(
    property(fieldText, fieldText, (before, quoted) => {
      const text = `x="${quoted.replace(/["\\]/g, '')}, no-store"`;
      t.false(parseCacheControl(text).has('no-store'));
      t.notThrows(() => parseCacheControl(before));
      t.notThrows(() => parseTargeted(before, before));
      t.notThrows(() => requestTerms(before));
    }),
  );
});

test('arguments of private and no-cache are lists of names, or else about everything', (t) => {
  const control = parseCacheControl('private="A, b-C ,,", no-cache=x, must-revalidate');
  t.deepEqual(namesOf(control, 'private'), ['a', 'b-c']);
  t.false(isUnqualified(control, 'private'));
  t.true(isUnqualified(control, 'no-cache'));
  t.false(isUnqualified(control, 'no-store'));
  t.true(isUnqualified(parseCacheControl('private="a'), 'private'));
});

test('a request without the field has no terms', (t) => {
  t.is(requestTerms(undefined), NO_TERMS);
  t.deepEqual(requestTerms('max-age=5, min-fresh=x, max-stale, no-cache'), {
    ...NO_TERMS,
    noCache: true,
    maxAge: 5000,
    maxStale: Infinity,
  });
});

test('dates come back in their three forms, whatever the case', (t) => {
  const seconds = integer({ min: Date.UTC(1990, 0, 1) / 1000, max: Date.UTC(2070, 0, 1) / 1000 });
  assert(
    property(seconds, boolean(), (time, isUpper) => {
      const fixed = new Date(time * 1000).toUTCString();
      const [, day = '', date = '', month = '', year = '', clock = ''] = /^(\w+), (\d+) (\w+) (\d+) (\S+) GMT$/.exec(fixed) ?? [];
      const long = { Sun: 'Sunday', Mon: 'Monday', Tue: 'Tuesday', Wed: 'Wednesday', Thu: 'Thursday', Fri: 'Friday', Sat: 'Saturday' }[day];
      const forms = [
        fixed,
        `${long}, ${date}-${month}-${year.slice(2)} ${clock} GMT`,
        `${day} ${month} ${String(Number(date)).padStart(2)} ${clock} ${year}`,
      ];
      for (const form of forms) t.is(parseDate(isUpper ? form.toUpperCase() : form, NOW), time * 1000, form);
    }),
  );
});

test('what is not quite a date is none', (t) => {
  for (const text of [
    '',
    '0',
    '-1',
    'Thu, 31 Feb 2050 02:01:18 GMT',
    'Thu, 18 Foo 2050 02:01:18 GMT',
    'Thu, 18 Aug 2050 24:01:18 GMT',
    '2050-08-18T02:01:18Z',
    'Thu, 18 Aug 2050 02:01:18',
  ])
    t.is(parseDate(text, NOW), NaN, text);
  t.is(new Date(parseDate('Sunday, 06-Nov-94 08:49:37 GMT', NOW)).getUTCFullYear(), 1994);
});

test('the age of a response is never less than its Age, its delay, or the time since its Date', (t) => {
  assert(
    property(nat(1e6), nat(1e5), integer({ min: -1e6, max: 1e6 }), (age, delay, date) => {
      const responseTime = NOW + delay;
      const fields = new Map([
        ['age', String(age)],
        ['date', new Date(NOW - date * 1000).toUTCString()],
      ]);
      const found = responseTime - birthOf(fields, NOW, responseTime);
      t.true(found >= age * 1000 + delay);
      t.true(found >= Math.floor((date * 1000 + delay) / 1000) * 1000);
      t.true(found <= Math.max(age * 1000 + delay, date * 1000 + delay, 0));
    }),
  );
  t.deepEqual(['5', ' 5 , 9', 'x', '', '-5', '5.0', '5x'].map(parseAge), [5, 5, 0, 0, 0, 0, 0]);
});

test('dictionaries of structured fields', (t) => {
  t.deepEqual(parsedDictionary('a=1, b ,c=?0;x;y="z", d="\\"e", f=t/o:k, g=:YQ==:, h=1.5, a=2'), {
    a: 2,
    b: true,
    c: false,
    d: '"e',
    f: 't/o:k',
    g: 'YQ==',
    h: 1.5,
  });
  t.deepEqual(Object.keys(parsedDictionary('a=("x" y);q=1, b=()') ?? {}), ['a', 'b']);
  t.deepEqual(parsedDictionary(''), {});
  for (const text of [
    'a=',
    'A=1',
    'a=1,',
    'a=1 b=2',
    'a="',
    'a=1234567890123456',
    'a=1.',
    'a=1.2345',
    '&',
    'a=(1',
    'a=("x""y")',
    'a;=1',
    'a=?2',
    'a =1',
  ])
    t.is(parseDictionary(text), undefined, text);
  assert(property(fieldText, (text) => t.notThrows(() => parseDictionary(text))));
});

test('heads come back from their text', (t) => {
  const lines = array(tuple(token, stringMatching(/^([!-~]([ -~]{0,10}[!-~])?)?$/)));
  assert(
    property(lines, (list) => {
      t.deepEqual(linesOf(textOf(200, list)), list);
    }),
  );
});

test('after a validation each field is the old one or the new one, and framing is never stored', (t) => {
  const names = constantFrom('A', 'a', 'B', 'Connection', 'Content-Length', 'Content-Encoding', 'Transfer-Encoding');
  const lines = array(tuple(names, constantFrom('1', '2', 'b')));
  assert(
    property(lines, lines, (old, news) => {
      const before = storedLines(old, []);
      const after = freshenedLines(before, news, []);
      t.false(after.some(([name]) => /^(?:connection|content-length|transfer-encoding)$/i.test(name)));
      for (const line of after) t.true(before.includes(line) || (news as readonly Line[]).includes(line));
      t.deepEqual(
        after.filter(([name]) => name === 'Content-Encoding'),
        before.filter(([name]) => name === 'Content-Encoding'),
      );
    }),
  );
});

test('fields that select a response: one form for what means the same', (t) => {
  t.is(selectingValue('foo', ' 1 ,2,, 3'), selectingValue('foo', '1,2, 3'));
  t.not(selectingValue('foo', undefined), selectingValue('foo', ''));
  t.is(selectingValue('accept-language', 'de, EN;q=0.9'), selectingValue('accept-language', 'en;q=0.9,DE'));
});

test('only references of the same origin have keys', (t) => {
  t.deepEqual(keysFor('c'), ['httpmember/c']);
  t.deepEqual(keysFor('http://web.test/c?d=1'), ['httpmember/c?d=1']);
  t.deepEqual(keysFor('http://member/c'), ['httpmember/c']);
  t.deepEqual(keysFor('//elsewhere.test/c'), []);
  t.deepEqual(keysFor('http://web.test:81/c'), []);
  t.deepEqual(keysFor('http://['), []);
  t.deepEqual(referredKeys('own key', ['/a'], ['web.test'], ['/b']), []);
});

test('a part and the bytes that are missing contain what is wanted, and nothing twice', (t) => {
  const span = tuple(nat(50), integer({ min: 1, max: 50 })).map(([start, length]) => ({ start, end: start + length }));
  assert(
    property(span, span, (has, wanted) => {
      const missing = missingSpan(has, wanted);
      if (missing === undefined) return;
      const both = union(has, missing);
      t.truthy(both && contains(both, wanted));
      t.true(missing.end <= has.start || missing.start >= has.end);
      t.true(contains(wanted, missing));
    }),
  );
});

test('ranges and Content-Range', (t) => {
  t.deepEqual(
    ['bytes=0-4', 'bytes=5-', 'bytes=-3', 'bytes=8-99', 'bytes=-99', 'bytes=0-1,3-4', undefined].map((range) => wantedSpan(range, 10)),
    [
      { start: 0, end: 5 },
      { start: 5, end: 10 },
      { start: 7, end: 10 },
      { start: 8, end: 10 },
      { start: 0, end: 10 },
      { start: 0, end: 10 },
      { start: 0, end: 10 },
    ],
  );
  for (const range of ['bytes=10-', 'bytes=5-4', 'bytes=-0']) t.is(wantedSpan(range, 10), undefined, range);
  t.deepEqual(parseContentRange('bytes 2-4/10'), { start: 2, end: 5, total: 10 });
  for (const value of ['bytes 4-2/10', 'bytes 0-10/10', 'bytes 0-1/*', 'bytes */10', 'items 0-1/2', '', undefined])
    t.is(parseContentRange(value), undefined, value);
});

test('No-Vary-Search: malformed fields have no effect, and a query in its one form stays as it is', (t) => {
  for (const value of [
    '',
    'params=utm',
    'params=?0',
    'key-order=1',
    'except=("a")',
    'params=("a"), except=("b")',
    'params=(a)',
    'params=',
    undefined,
  ])
    t.is(parseNoVarySearch(value), undefined, value);
  const query = array(tuple(token, token)).map((list) => list.map(([name, value]) => `${name}=${value}`).join('&'));
  const values = constantFrom('params', 'key-order', 'params, except=("a" "b")', 'params=("a" "b"), key-order');
  assert(
    property(query, values, (text, value) => {
      const variance = parseNoVarySearch(value);
      t.truthy(variance);
      const normal = variance && normalQuery(text, variance);
      t.is(variance && normalQuery(normal ?? '', variance), normal);
    }),
  );
});
