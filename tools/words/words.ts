/**
 * Finds words in docs, messages and comments that this project does not use: {@link REJECTED}. Run it in the folder of the project.
 *
 *     node dist/tools/words/words.js            fails if there are any, and lists them
 *     node dist/tools/words/words.js --all      also lists the known ones
 *     node dist/tools/words/words.js --write    after files were improved: lowers the numbers in left.json
 *
 * Texts in the code of the program have none. Comments and tests had thousands when the check was introduced: `left.json` has the number that a
 * file may still have; another file may have none. Files may be moved; the total never grows.
 */
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { proseOfPage, proseOfSource } from './prose.js';
import { REJECTED } from './rejected.js';

const LEFT = 'tools/words/left.json';
const PAGES = ['*.md', 'docs/**/*.md', 'plugin-template/*.md'];
const PROGRAM = ['core/**/*.ts', 'modules/**/*.ts', 'testing/**/*.ts', 'plugin-template/modules/**/*.ts'];
const OTHERS = ['test/**/*.ts', 'tools/**/*.ts', 'plugin-template/test/**/*.ts'];
/** Contain the rejected words by necessity. */
const EXEMPT = new Set(['tools/words/rejected.ts', 'test/docs/words.test.ts']);
/** Characters around a word in which an exception may match. */
const AROUND = 50;

interface Hit {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

type Counts = Readonly<Record<string, number>>;

// A phrase may be broken into two lines.
const RULES = REJECTED.map((word) => ({ ...word, pattern: new RegExp(word.pattern.source.replaceAll(' ', '\\s+'), word.pattern.flags) }));

function hitsIn(file: string, prose: string): readonly Hit[] {
  return RULES.flatMap(({ pattern, instead, except }) =>
    [...prose.matchAll(pattern)]
      .filter(({ 0: word, index }) => {
        const around = prose.slice(Math.max(0, index - AROUND), index + word.length + AROUND).replaceAll(/\s+/g, ' ');
        return except?.test(around) !== true;
      })
      .map(({ 0: word, index }) => ({
        file,
        line: prose.slice(0, index).split('\n').length,
        text: `"${word.replaceAll(/\s+/g, ' ')}": ${instead}`,
      })),
  );
}

function files(patterns: readonly string[]): readonly { readonly file: string; readonly text: string }[] {
  return globSync(patterns)
    .filter((file) => !EXEMPT.has(file))
    .toSorted()
    .map((file) => ({ file, text: readFileSync(file, 'utf8') }));
}

/** Texts of the program: messages, descriptions of directives and fields. */
function textHits(): readonly Hit[] {
  return files(PROGRAM).flatMap(({ file, text }) => hitsIn(file, proseOfSource(text).literals));
}

/** Hits that are allowed up to the number in left.json. */
function countedHits(): readonly Hit[] {
  return [
    ...files(PAGES).flatMap(({ file, text }) => hitsIn(file, proseOfPage(text))),
    ...files([...PROGRAM, ...OTHERS]).flatMap(({ file, text }) => hitsIn(file, proseOfSource(text).comments)),
    ...files(OTHERS).flatMap(({ file, text }) => hitsIn(file, proseOfSource(text).literals)),
  ];
}

function countByFile(hits: readonly Hit[]): Counts {
  const counts: Record<string, number> = {};
  for (const { file } of hits) counts[file] = (counts[file] ?? 0) + 1;
  return counts;
}

function total(counts: Counts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

function show(hits: readonly Hit[]): void {
  for (const { file, line, text } of hits) process.stdout.write(`${file}:${line}: ${text}\n`);
}

const texts = textHits();
const counted = countedHits();
const counts = countByFile(counted);
const left: Counts = existsSync(LEFT) ? (JSON.parse(readFileSync(LEFT, 'utf8')) as Counts) : {};

if (process.argv.includes('--write')) {
  if (existsSync(LEFT) && total(counts) > total(left)) {
    process.stdout.write(`There are ${total(counts)} rejected words, and ${total(left)} are allowed: --all lists them\n`);
    process.exitCode = 1;
  } else writeFileSync(LEFT, `${JSON.stringify(counts, Object.keys(counts).toSorted(), 2)}\n`);
} else {
  const excess = counted.filter(({ file }) => (counts[file] ?? 0) > (left[file] ?? 0));
  show([...texts, ...(process.argv.includes('--all') ? counted : excess)]);
  if (texts.length + excess.length > 0) process.exitCode = 1;
  process.stdout.write(
    `rejected words: ${texts.length} in texts of the program, ${total(counts)} elsewhere, of which ${total(left)} are known\n`,
  );
}
