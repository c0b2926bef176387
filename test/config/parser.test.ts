import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test from 'ava';
import * as fc from 'fast-check';
import { parseFile, parseParameter, parseText, type ParsedText } from '../../core/config/parser.js';
import { exactTree } from '../../core/contract/print.js';
import { IdSource } from '../../core/config/tree.js';
import type { ParseLimits } from '../../core/config/text-parser.js';
import { anyText } from './random-trees.js';

const folder = mkdtempSync(join(tmpdir(), 'srv-parser-'));
test.after.always(() => rmSync(folder, { recursive: true }));

function write(path: string, content: string | Buffer): string {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
}

function text(source: string, limits: Partial<ParseLimits> = {}): ParsedText {
  return parseText(source, { ids: new IdSource(), file: '(api)', limits });
}

function messages({ errors }: ParsedText): readonly string[] {
  return errors.map(({ message }) => message);
}

test('ids are fresh, and go on from text to text', (t) => {
  const ids = new IdSource();
  const first = parseText('a { b; c; }', { ids, file: '(api)' }).directives;
  const second = parseText('d', { ids, file: '(api)' }).directives;
  t.deepEqual([first[0]?.id, first[0]?.block?.map(({ id }) => id), second[0]?.id], [1, [2, 3], 4]);
});

test('a directive knows its place and the includes that brought it', (t) => {
  write('place/b.conf', '\n  b x;');
  write('place/a.conf', 'include b.conf;');
  const main = write('place/srv.conf', 'c {\n include a.conf; }');
  const [b] = parseFile(main, { ids: new IdSource() }).directives[0]?.block ?? [];
  t.deepEqual(b?.source, {
    file: join(folder, 'place/b.conf'),
    line: 2,
    column: 3,
    from: { file: join(folder, 'place/a.conf'), line: 1, column: 9, from: { file: main, line: 2, column: 10 } },
  });
  t.deepEqual(b?.args, [{ text: 'x', line: 2, column: 5 }]);
});

test('the files that were read are listed, each once', (t) => {
  write('files/a.conf', 'a;');
  const main = write('files/srv.conf', 'include a.conf; b { include a.conf; include none*.conf; }');
  t.deepEqual(parseFile(main, { ids: new IdSource() }).files, [main, join(folder, 'files/a.conf')]);
});

test('includes are relative to the main file, wherever they stand', (t) => {
  write('relative/sub/a.conf', 'include sub/b.conf;');
  write('relative/sub/b.conf', 'found;');
  const main = write('relative/srv.conf', 'include sub/a.conf;');
  t.is(exactTree(parseFile(main, { ids: new IdSource() }).directives), 'found;\n');
});

test('a folder with pattern characters in its name is taken literally', (t) => {
  write('odd[1]*/a.conf', 'found;');
  const main = write('odd[1]*/srv.conf', 'include *.con?; include a.conf;');
  const { directives, errors } = parseFile(main, { ids: new IdSource() });
  // srv.conf matches the pattern as well, and is left out with an error.
  t.is(exactTree(directives), 'found;\nfound;\n');
  t.regex(errors[0]?.message ?? '', /srv\.conf" failed \(it includes itself\)/);
});

test('a file that is not in the folder of the configuration is one of those that are shipped', (t) => {
  write('installed/conf/x.conf', 'shipped;');
  write('installed/conf/y.conf', 'shipped;');
  write('own/x.conf', 'own;');
  const main = write('own/srv.conf', 'include x.conf; include y.conf; include conf/x.conf; include none.conf;');
  const shipped = ['installed', 'installed/conf'].map((name) => join(folder, name));
  const { directives, errors } = parseFile(main, { ids: new IdSource(), shipped });
  t.is(exactTree(directives), 'own;\nshipped;\nshipped;\n');
  t.deepEqual(
    errors.map(({ message }) => message),
    [`open() "${join(folder, 'own/none.conf')}" failed (2: No such file or directory)`],
  );
});

test('a file that includes itself through a link is found out', (t) => {
  const main = write('loop/srv.conf', 'include link.conf;');
  symlinkSync(main, join(folder, 'loop/link.conf'));
  t.deepEqual(messages(parseFile(main, { ids: new IdSource() })), [
    `open() "${join(folder, 'loop/link.conf')}" failed (it includes itself)`,
  ]);
});

test('includes go only so deep', (t) => {
  for (let i = 0; i < 10; i++) write(`deep/${i}.conf`, `include ${i + 1}.conf;`);
  write('deep/10.conf', 'bottom;');
  const ids = new IdSource();
  t.deepEqual(messages(parseFile(join(folder, 'deep/0.conf'), { ids, limits: { includeDepth: 11 } })), []);
  t.regex(
    messages(parseFile(join(folder, 'deep/0.conf'), { ids, limits: { includeDepth: 10 } }))[0] ?? '',
    /more than 10 files include one another/,
  );
});

test('a main file that cannot be read is an error without a place', (t) => {
  const path = join(folder, 'none.conf');
  const { errors } = parseFile(path, { ids: new IdSource() });
  t.is(errors[0]?.message, `open() "${path}" failed (2: No such file or directory)`);
  t.is(errors[0]?.source, undefined);
  t.is(parseFile(folder, { ids: new IdSource() }).errors[0]?.message, `pread() "${folder}" failed (21: Is a directory)`);
});

test('files that are not UTF-8 are taken byte by byte', (t) => {
  const main = write('latin.conf', Buffer.from('a caf\xe9;', 'latin1'));
  t.is(parseFile(main, { ids: new IdSource() }).directives[0]?.args[0]?.text, 'café');
});

test('Windows line ends and a byte order mark do no harm', (t) => {
  const main = write('windows.conf', '\uFEFFa b;\r\nc {\r\n  d;\r\n}\r\n');
  const { directives, errors } = parseFile(main, { ids: new IdSource() });
  t.deepEqual(errors, []);
  t.is(exactTree(directives), 'a b;\nc {\n    d;\n}\n');
});

test('text of the API cannot leave its place', (t) => {
  t.deepEqual(messages(text('return 200; } location / {')), ['unexpected "}"', 'unexpected end of file, expecting "}"']);
  t.deepEqual(messages(text('include /etc/passwd;')), ['"include" directive is not allowed here']);
  t.deepEqual(messages(text('a { include /etc/*; }')), ['"include" directive is not allowed here']);
  t.deepEqual(messages(text('"include" /etc/passwd')), ['"include" directive is not allowed here']);
});

test('nothing of a rejected text of the API is a file name of this machine', (t) => {
  const { errors } = text('}');
  t.deepEqual(errors[0]?.source, { file: '(api)', line: 1, column: 1 });
});

test('limits make errors', (t) => {
  t.deepEqual(messages(text('a;'.repeat(10), { size: 19 })), ['the text is longer than 19 characters']);
  t.deepEqual(messages(text('a { a { a { } } }', { depth: 2 })), ['more than 2 blocks stand in one another']);
  t.deepEqual(messages(text('a { a { } }', { depth: 2 })), []);
  t.is(messages(text(';'.repeat(5000), { errors: 7 })).length, 7);
  const main = write('long.conf', 'a '.repeat(500));
  t.regex(messages(parseFile(main, { ids: new IdSource(), limits: { size: 999 } }))[0] ?? '', /failed \(longer than 999 bytes\)/);
});

test('deep nesting does not exhaust the stack', (t) => {
  const depth = 200_000;
  t.deepEqual(messages(text('a {'.repeat(depth) + '}'.repeat(depth))), ['more than 64 blocks stand in one another']);
});

test('a parameter of the command line is directives with terminators', (t) => {
  const ids = new IdSource();
  t.is(exactTree(parseParameter('daemon off; pid x;', { ids }, folder).directives), 'daemon off;\npid x;\n');
  t.deepEqual(messages(parseParameter('daemon off', { ids }, folder)), ['unexpected end of parameter, expecting ";"']);
  t.deepEqual(messages(parseParameter('events { }', { ids }, folder)), ['block directives are not supported in -g option']);
});

test('errors of several files are in the order they are read', (t) => {
  write('order/z.conf', '}');
  write('order/a.conf', '}');
  const main = write('order/srv.conf', '; include z.conf; ; include [az].conf; ;');
  const { errors } = parseFile(main, { ids: new IdSource() });
  t.deepEqual(
    errors.map(({ source }) => source?.file.slice(folder.length + 7)),
    ['srv.conf', 'z.conf', 'srv.conf', 'a.conf', 'z.conf', 'srv.conf'],
  );
});

test('any text at all is parsed, and every error has a place in it', (t) => {
  const property = fc.property(
    fc.oneof(
      anyText,
      fc.array(anyText, { maxLength: 8 }).map((parts) => parts.join('; {')),
    ),
    (source) => {
      const lines = source.split('\n');
      for (const { source: place } of text(source).errors) {
        const line = lines[(place?.line ?? 0) - 1];
        t.true(line !== undefined && place !== undefined && place.column >= 1 && place.column <= line.length + 1);
      }
    },
  );
  t.notThrows(() => fc.assert(property, { numRuns: 2000 }));
});
