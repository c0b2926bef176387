import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { parseFile, parseText } from '../../core/config/parser.js';
import { IdSource } from '../../core/config/tree.js';
import { check, validate } from '../../core/config/validate.js';
import { argContext, nginxRegistry } from './nginx-specs.js';

const registry = nginxRegistry();

function messages(text: string, context: string, beside?: (name: string) => boolean): readonly string[] {
  const { directives } = parseText(text, { ids: new IdSource(), file: '(api)' });
  return validate(directives, { registry, args: argContext, context, ...(beside && { beside }) }).map(({ message }) => message);
}

test('a single directive is checked in the context it will be in', (t) => {
  t.deepEqual(messages('server 10.0.0.1 weight=2 down', 'upstream'), []);
  t.deepEqual(messages('server 10.0.0.1', 'location'), ['"server" directive is not allowed here']);
  t.deepEqual(messages('return 200; add_header a b', 'if in location'), []);
});

function beside(name: string): boolean {
  return name === 'keepalive' || name === 'server';
}

test('what is beside counts for duplicates', (t) => {
  t.deepEqual(messages('keepalive 5', 'upstream', beside), ['"keepalive" directive is duplicate']);
  t.deepEqual(messages('server 10.0.0.1', 'upstream', beside), []);
  t.deepEqual(messages('keepalive 5', 'upstream'), []);
});

test('every argument of a directive is checked', (t) => {
  t.deepEqual(messages('server a weight=x fail_timeout=y backup oops', 'upstream'), [
    'invalid parameter "weight=x"',
    'invalid parameter "fail_timeout=y"',
    'invalid parameter "oops"',
  ]);
});

test('directives inside one that is in the wrong place are checked as well', (t) => {
  t.deepEqual(messages('server { listen 80; lisen 81; }', 'server'), [
    '"server" directive is not allowed here',
    'unknown directive "lisen"',
  ]);
});

test('errors of form and of meaning come in the order of the text', (t) => {
  const parsed = parseText('foo;\nsendfile on off;\n;\nbar;\n}', { ids: new IdSource(), file: '(api)' });
  const errors = check(parsed, { registry, args: argContext, context: 'http' });
  t.deepEqual(
    errors.map(({ source }) => source?.line),
    [1, 2, 3, 4, 5],
  );
});

test('errors of files that one pattern brought stay with their file', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'srv-validate-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'srv.conf'), 'http { include [ab].conf; }');
  writeFileSync(join(folder, 'a.conf'), 'foo;\n;\nfoo;');
  writeFileSync(join(folder, 'b.conf'), '\n;\nfoo;');
  const errors = check(parseFile(join(folder, 'srv.conf'), { ids: new IdSource() }), { registry, args: argContext });
  t.deepEqual(
    errors.map(({ source }) => `${source?.file.slice(folder.length + 1)}:${source?.line}`),
    ['a.conf:1', 'a.conf:2', 'a.conf:3', 'b.conf:2', 'b.conf:3'],
  );
});

test('the first thousand errors are enough', (t) => {
  t.is(messages('foo; '.repeat(5000), 'http').length, 1000);
});

function fail(): never {
  throw new TypeError('a fault of the program');
}

test('a fault of an argument type is not taken for one of the configuration', (t) => {
  const { directives } = parseText('pid x', { ids: new IdSource(), file: '(api)' });
  t.throws(() => validate(directives, { registry, args: { ...argContext, path: fail } }), { instanceOf: TypeError });
});
