import assert from 'node:assert/strict';
import test from 'ava';
import * as fc from 'fast-check';
import { normalHostName } from '../../core/net/http1/host.js';
import { escapeUri, normalizePath, RequestUri } from '../../core/net/http1/uri.js';

/** Path, then what it becomes with slashes merged, then what it becomes when they are kept if that differs. Checked against nginx 1.22. */
const paths: [path: string, merged: string | undefined, kept?: string | undefined][] = [
  ['/', '/'],
  ['/a/b.html', '/a/b.html'],
  ['/a/', '/a/'],
  ['//', '/', '//'],
  ['/a//b', '/a/b', '/a//b'],
  ['/a//', '/a/', '/a//'],
  ['/a///../b', '/b', '/a//b'],
  ['/.', '/'],
  ['/./a', '/a'],
  ['/a/.', '/a/'],
  ['/a/..', '/'],
  ['/a/../b', '/b'],
  ['/a/b/../../c', '/c'],
  ['/a/b/..', '/a/'],
  ['/...', '/...'],
  ['/.a', '/.a'],
  ['/a./b', '/a./b'],
  ['/a../b', '/a../b'],
  ['//..', undefined, '/'],
  ['/..', undefined],
  ['/../a', undefined],
  ['/a/../..', undefined],
  ['/%41', '/A'],
  ['/%2e%2E/a', undefined],
  ['/a%2f..%2Fb', '/b'],
  ['/a%2fb', '/a/b'],
  ['/a%2f%2fb', '/a/b', '/a//b'],
  ['/%252f', '/%2f'],
  ['/a%3fb%23c', '/a?b#c'],
  ['/a%0ab', '/a\nb'],
  ['/%ff', '/\xff'],
  ['/a+b', '/a+b'],
  ['/%00', undefined],
  ['/%', undefined],
  ['/%4', undefined],
  ['/%zz', undefined],
  ['/%4%41', undefined],
];

for (const [path, merged, kept] of paths) {
  test(`the path ${path}`, (t) => {
    t.is(normalizePath(path, true), merged);
    t.is(normalizePath(path, false), kept === undefined && path !== '//..' ? merged : kept);
  });
}

test('a target is taken apart into path and arguments', (t) => {
  const uri = new RequestUri();
  const parts = (target: string): unknown[] => [uri.parse(target, true), uri.path, uri.args, uri.hasArgs];
  t.deepEqual(parts('/a?b=%20&c=/../d'), [true, '/a', 'b=%20&c=/../d', true]);
  t.deepEqual(parts('/a?'), [true, '/a', '', true]);
  t.deepEqual(parts('/a'), [true, '/a', '', false]);
  t.deepEqual(parts('/a?b#c?d'), [true, '/a', 'b', true]);
  t.deepEqual(parts('/a#b?c'), [true, '/a', '', false]);
  t.deepEqual(parts(''), [true, '/', '', false]);
  t.deepEqual(parts('?b'), [true, '/', 'b', true]);
  t.deepEqual(parts('/..?b'), [false, '', 'b', true]);
});

test('what nginx escapes is escaped, and nothing else', (t) => {
  t.is(escapeUri('/a b"c#d%e<f>g?h\\i^j`k{l|m}n'), '/a%20b%22c%23d%25e%3Cf%3Eg%3Fh%5Ci%5Ej%60k%7Bl%7Cm%7Dn');
  t.is(escapeUri('/\n\0\x7f\x80\xff'), '/%0A%00%7F%80%FF');
  const plain = "/-._~!$&'()*+,;=:@[]09azAZ";
  t.is(escapeUri(plain), plain);
});

test('decoding undoes escaping', (t) => {
  const byte = fc.integer({ min: 1, max: 255 }).map((code) => String.fromCharCode(code));
  const path = fc.string({ unit: byte }).map((text) => `/a${text.replaceAll('/', '-')}`);
  t.notThrows(() => fc.assert(fc.property(path, (path) => assert.equal(normalizePath(escapeUri(path), true), path))));
});

test('a normal path stays as it is, and no segment of it climbs', (t) => {
  const piece = fc.constantFrom('/', '.', '..', 'a', '%2e', '%2f', '/../', '//');
  t.notThrows(() =>
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), fc.boolean(), (pieces, merge) => {
        const normal = normalizePath(`/${pieces.join('')}`, merge);
        if (normal === undefined) return;
        assert.equal(normalizePath(normal, merge), normal);
        assert.doesNotMatch(normal, merge ? /\/\/|\/\.\.?(\/|$)/ : /\/\.\.?(\/|$)/);
      }),
      { numRuns: 2000, includeErrorInReport: true },
    ),
  );
});

function name(text: string): string {
  return normalHostName(text, 0, text.length);
}

test('host names are compared in lower case, without the dot at their end', (t) => {
  t.is(name('a.example'), 'a.example');
  t.is(name('A.Example.'), 'a.example');
  t.is(name('.'), '.');
  t.is(name('\xc9T\xe9'), '\xc9t\xe9');
});
