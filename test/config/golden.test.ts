/**
 * Each file of test/golden/config is a case: input, a line of dashes, expected output. The output is the tree as it is printed back, or the
 * error report. The input is `srv.conf`; a line `==> name <==` starts another file beside it. `==> (api) context <==` makes the input a text
 * that came through the API for that context, `==> command line <==` one that came with `-g`.
 * `UPDATE_GOLDEN=1` writes the output that is there now into the files.
 */
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { formatConfigErrors } from '../../core/config/error-report.js';
import { parseFile, parseParameter, parseText, type ParsedText } from '../../core/config/parser.js';
import { exactTree } from '../../core/contract/print.js';
import { IdSource } from '../../core/config/tree.js';
import { check } from '../../core/config/validate.js';
import { argContext, nginxRegistry } from './nginx-specs.js';

const FOLDER = fileURLToPath(new URL('../../../test/golden/config/', import.meta.url));
const DASHES = /^-{4,}\n/m;
/** Where the files of a case stand in expected output. */
const SHOWN_FOLDER = '/etc/srv';

interface InputFile {
  readonly name: string;
  readonly text: string;
}

function inputFiles(input: string): readonly InputFile[] {
  const parts = input.split(/^==> (.+) <==\n/m);
  const files: InputFile[] = [];
  if (parts[0] !== '') files.push({ name: 'srv.conf', text: parts[0] ?? '' });
  for (let i = 1; i < parts.length; i += 2) files.push({ name: parts[i] ?? '', text: parts[i + 1] ?? '' });
  return files;
}

function parse(main: InputFile, folder: string): ParsedText {
  const options = { ids: new IdSource() };
  if (main.name.startsWith('(api)')) return parseText(main.text, { ...options, file: '(api)' });
  if (main.name === 'command line') return parseParameter(main.text.trimEnd(), options, folder);
  return parseFile(join(folder, main.name), options);
}

function outputOf(input: string, folder: string): string {
  const files = inputFiles(input);
  const [main] = files;
  if (main === undefined) throw new Error('a case needs an input');
  for (const { name, text } of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const parsed = parse(main, folder);
  const context = /^\(api\) (?<context>.*)/.exec(main.name)?.groups?.['context'] ?? 'main';
  const errors = check(parsed, { registry: nginxRegistry(), args: argContext, context });
  if (errors.length === 0) return exactTree(parsed.directives);

  const readLine = (file: string, line: number): string | undefined => {
    const text = file === '(api)' ? main.text : file.startsWith('/') ? readFileSync(file, 'utf8') : undefined;
    return text?.split('\n')[line - 1];
  };
  return formatConfigErrors(errors, { program: 'srv', readLine }).replaceAll(folder, SHOWN_FOLDER);
}

for (const name of readdirSync(FOLDER).filter((name) => name.endsWith('.txt'))) {
  test(name.replace(/\.txt$/, ''), (t) => {
    const content = readFileSync(join(FOLDER, name), 'utf8');
    const [dashes] = DASHES.exec(content) ?? [];
    t.truthy(dashes, 'a line of dashes divides input and output');
    const input = content.slice(0, content.indexOf(dashes ?? ''));
    const folder = mkdtempSync(join(tmpdir(), 'srv-golden-'));
    try {
      const output = outputOf(input, folder);
      if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(join(FOLDER, name), input + dashes + output);
      t.is(output, readFileSync(join(FOLDER, name), 'utf8').slice(input.length + (dashes ?? '').length));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}
