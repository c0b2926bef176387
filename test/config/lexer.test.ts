import test from 'ava';
import { Lexer, type Statement } from '../../core/config/lexer.js';

interface Lexed {
  readonly statements: readonly Statement[];
  readonly reports: readonly string[];
}

function lex(text: string, { wordLength = 1000, lenient = false } = {}): Lexed {
  const reports: string[] = [];
  const report = (message: string, line: number, column: number): number => reports.push(`${line}:${column} ${message}`);
  const lexer = new Lexer(text, { report, wordLength, unexpectedEnd: lenient ? undefined : 'the end' });
  const statements: Statement[] = [];
  do statements.push(lexer.next());
  while (statements.at(-1)?.end !== 'eof' && statements.length < 1000);
  return { statements, reports };
}

function words(text: string): readonly string[] {
  return lex(text).statements[0]?.words.map((word) => word.text) ?? [];
}

test('every word has its line and column', (t) => {
  const { statements } = lex('a  "b c"\n\t\'d\'\n  e${f} ; g;');
  t.deepEqual(statements[0]?.words, [
    { text: 'a', line: 1, column: 1 },
    { text: 'b c', quote: '"', line: 1, column: 4 },
    { text: 'd', quote: "'", line: 2, column: 2 },
    { text: 'e${f}', line: 3, column: 3 },
  ]);
  t.like(statements[0], { end: ';', line: 3, column: 9 });
  t.deepEqual(statements[1]?.words, [{ text: 'g', line: 3, column: 11 }]);
});

test('lines inside quotes and behind backslashes count', (t) => {
  const { statements } = lex('a "x\ny\n" b\\\nc d;');
  t.deepEqual(
    statements[0]?.words.map(({ text, line, column }) => [text, line, column]),
    [
      ['a', 1, 1],
      ['x\ny\n', 1, 3],
      ['b\\\nc', 3, 3],
      ['d', 4, 3],
    ],
  );
});

test('carriage returns are blanks, but stay in quotes', (t) => {
  t.deepEqual(words('a b\r\n c\r\n;\r\n'), ['a', 'b', 'c']);
  t.deepEqual(words('a "b\r\nc";'), ['a', 'b\r\nc']);
});

test('a byte order mark at the start is not part of the first word', (t) => {
  const { statements } = lex('\uFEFFevents { }');
  t.deepEqual(statements[0]?.words, [{ text: 'events', line: 1, column: 1 }]);
});

test('other blanks of Unicode are text', (t) => {
  t.deepEqual(words('a\u00A0b \u2028c \vd;'), ['a\u00A0b', '\u2028c', '\vd']);
});

test('comments start where a word may start', (t) => {
  t.deepEqual(words('# x\n a #b;\n c#d #\n;'), ['a', 'c#d']);
});

test('the end of the text ends a comment', (t) => {
  t.deepEqual(lex('a; # the end').reports, []);
});

test('a text that breaks off is reported at its end', (t) => {
  const { statements, reports } = lex('a b\n c');
  t.deepEqual(reports, ['2:3 the end']);
  t.is(statements[0]?.words.length, 3);
});

test('without a message the last terminator may be left out', (t) => {
  const { statements, reports } = lex('a b; c d', { lenient: true });
  t.deepEqual(reports, []);
  t.deepEqual(
    statements.map(({ end }) => end),
    [';', ';', 'eof'],
  );
});

test('a quote without an end swallows its line only', (t) => {
  const { statements, reports } = lex('a "b; c\nd e;\nf;');
  t.deepEqual(reports, ['3:3 the end']);
  t.deepEqual(
    statements.map(({ words, garbled }) => [words.map(({ text }) => text).join(' '), garbled]),
    [
      ['a b; c', true],
      ['d e', false],
      ['f', false],
      ['', false],
    ],
  );
});

test('long words are reported where they start, in the words of nginx', (t) => {
  const long = 'x'.repeat(50);
  t.deepEqual(lex(`a ${long};\n'${long}';`, { wordLength: 49 }).reports, [
    '1:3 too long parameter "xxxxxxxxxx..." started',
    `2:1 too long parameter, probably missing terminating "'" character`,
  ]);
  t.deepEqual(lex(`a ${long};`, { wordLength: 50 }).reports, []);
});

test('lexing goes on after every error', (t) => {
  const { statements, reports } = lex('; a "b"c; { d } } e');
  t.deepEqual(reports, ['1:1 unexpected ";"', '1:8 unexpected "c"', '1:11 unexpected "{"', '1:15 unexpected "}"', '1:20 the end']);
  t.is(statements.map(({ end }) => end).join(' '), '; { ; } } ; eof');
});

test('hostile quotes do not cost more than time in proportion', (t) => {
  const text = `a "b\n${`c 'd" \\" \\' "\n`.repeat(20_000)}`;
  const start = performance.now();
  lex(text);
  t.true(performance.now() - start < 2000);
});
