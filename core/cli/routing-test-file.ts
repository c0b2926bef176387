import type { ExplainQuestion } from '../contract/explain.js';
import { wordHint } from '../contract/suggest.js';

/** Expectations of a test. */
export const EXPECTATIONS = ['listener', 'server', 'location', 'status', 'upstream', 'member', 'uri', 'redirect'] as const;
export type Expected = (typeof EXPECTATIONS)[number];

/** One line of a file of routing tests. */
export interface RoutingTest {
  /** 1-based. */
  readonly line: number;
  /** The request as it is written. */
  readonly text: string;
  readonly question: ExplainQuestion;
  readonly expected: readonly (readonly [what: Expected, value: string])[];
}

/** A line that cannot be read. */
export interface BadTest {
  readonly line: number;
  readonly message: string;
}

type Setup = Omit<ExplainQuestion, 'url' | 'method'>;

/** A word is what has no blanks outside of quotes and brackets. */
const WORD = /(?:"[^"]*"|\[[^\]]*\]|[^\s"[])+/g;
const METHOD = /^[A-Z]+$/;

/**
 * Reads lines such as `GET http://a.org/x [Accept: text/html] client=10.0.0.1 -> server=a.org location="^~ /img" status=200`. `with client=…`
 * holds for the lines below it, until another one.
 */
export function parseRoutingTests(text: string): { readonly tests: RoutingTest[]; readonly errors: BadTest[] } {
  const tests: RoutingTest[] = [];
  const errors: BadTest[] = [];
  let common: Setup = {};
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    const words = line.match(WORD) ?? [];
    if (words.length === 0 || line.trimStart().startsWith('#')) continue;
    try {
      if (words[0] === 'with') common = parseSetup(words.slice(1), {});
      else tests.push(parseTest(words, at + 1, common));
    } catch (error) {
      if (!(error instanceof TestError)) throw error;
      errors.push({ line: at + 1, message: error.message });
    }
  }
  return { tests, errors };
}

class TestError extends Error {}

function parseTest(words: readonly string[], line: number, common: Setup): RoutingTest {
  const arrow = words.indexOf('->');
  if (arrow < 0) throw new TestError('no "->": a test is written like GET http://a.org/x -> location=/x');
  const request = words.slice(0, arrow);
  const [first = '', second] = request;
  const hasMethod = METHOD.test(first) && second !== undefined;
  const [method, url, rest] = hasMethod ? [first, second, request.slice(2)] : ['GET', first, request.slice(1)];
  if (url === '') throw new TestError('no request: a test is written like GET http://a.org/x -> location=/x');
  const expected = words.slice(arrow + 1).map(parseExpectation);
  if (expected.length === 0) throw new TestError(`no expectation: write one or more of ${EXPECTATIONS.join(', ')} after the "->"`);
  return { line, text: request.join(' '), question: { ...parseSetup(rest, common), method, url: unquoted(url), candidates: 0 }, expected };
}

function parseSetup(words: readonly string[], common: Setup): Setup {
  const headers = [...(common.headers ?? [])];
  let { client, listen } = common;
  for (const word of words) {
    const header = /^\[([^:]+):(.*)\]$/s.exec(word);
    const [, key, value = ''] = /^(\w+)=(.*)$/s.exec(word) ?? [];
    if (header !== null) headers.push([header[1]?.trim() ?? '', header[2]?.trim() ?? '']);
    else if (key === 'client') client = unquoted(value);
    else if (key === 'listen') listen = unquoted(value);
    else throw new TestError(`"${word}" is not understood: a header is [Name: value], and there are client=address and listen=address`);
  }
  return { headers, ...(client !== undefined && { client }), ...(listen !== undefined && { listen }) };
}

function parseExpectation(word: string): readonly [Expected, string] {
  const [, key = word, value] = /^([^=]+)=(.*)$/s.exec(word) ?? [];
  const what = EXPECTATIONS.find((name) => name === key);
  if (what === undefined) throw new TestError(`"${key}" cannot be expected: ${wordHint(key, EXPECTATIONS)}`);
  if (value === undefined) throw new TestError(`"${key}" has no value: write ${key}=…`);
  return [what, unquoted(value)];
}

function unquoted(text: string): string {
  return text.replaceAll('"', '');
}
