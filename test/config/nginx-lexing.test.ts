/** The lexer against nginx itself: random text, and what `nginx -t` says first about it. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import * as fc from 'fast-check';
import { Lexer } from '../../core/config/lexer.js';

const NGINX = '/usr/sbin/nginx';
const folder = mkdtempSync(join(tmpdir(), 'srv-lexing-'));
test.after.always(() => rmSync(folder, { recursive: true }));

/** What nginx prints for the first statement, which names no directive that nginx has but `include`. */
function expectedOutput(text: string, file: string): string | undefined {
  const reports: string[] = [];
  const lexer = new Lexer(text, {
    report: (message, line) => reports.push(`${message} in ${file}:${line}`),
    wordLength: 4000,
    unexpectedEnd: 'unexpected end of file, expecting ";" or "}"',
  });
  const { words, end, line } = lexer.next();
  const [report] = reports;
  if (report !== undefined) return report;
  const place = `in ${file}:${line}`;
  const [name, path] = words;
  if (end === '}') return `unexpected "}" ${place}`;
  if (name === undefined) return undefined;
  if (name.text !== 'include') return `unknown directive "${name.text}" ${place}`;
  if (end === '{') return `directive "include" is not terminated by ";" ${place}`;
  if (path === undefined || words.length > 2) return `invalid number of arguments in "include" directive ${place}`;
  return `open() "${join(folder, '/')}${path.text}" failed (2: No such file or directory) ${place}`;
}

function nginxOutput(text: string, file: string): string {
  writeFileSync(file, text);
  const { stderr } = spawnSync(NGINX, ['-t', '-e', '/dev/null', '-p', folder, '-c', file], { encoding: 'utf8' });
  return stderr.replace(/^nginx: \[emerg\] /, '');
}

// Names of files end in `~`, so that none is a folder or exists.
const piece = fc.constantFrom(...Array.from('ab~ \n\t\r"\'\\{};#$)'), '${', 'tn', '\\"', '"x"', "' '", '~;', '~ ');
const statement = fc
  .tuple(
    fc.constantFrom('', '', 'include ', 'include "', "include '", 'include a'),
    fc.array(piece, { maxLength: 14 }),
    fc.constantFrom('', ';', '~;', '~"; ', " ~';", ' {'),
  )
  .map(([start, pieces, end]) => start + pieces.join('') + end);

test('words, errors and lines are those of nginx', (t) => {
  if (!existsSync(NGINX)) {
    t.log(`skipped: ${NGINX} is not installed`);
    t.pass();
    return;
  }
  const file = join(folder, 'srv.conf');
  const property = fc.property(statement, (text) => {
    const expected = expectedOutput(text, file);
    // An empty file name is the folder itself; an empty text is rejected for other reasons.
    if (expected === undefined || /open\(\) "[^"]*\/"/.test(expected)) return;
    const actual = nginxOutput(text, file);
    if (!actual.startsWith(`${expected}\n`)) throw new Error(`nginx says:\n${actual}\nexpected:\n${expected}`);
  });
  t.notThrows(() => fc.assert(property, { numRuns: Number(process.env['NGINX_LEXING_RUNS'] ?? 150) }));
});
