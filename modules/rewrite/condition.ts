import { stat } from 'node:fs/promises';
import type { HttpRequest, Template } from '../../core/contract/http.js';
import { compilePattern } from '../../core/toolkit/pattern.js';
import type { Log } from '../../core/contract/log.js';
import { ArgError, type ArgContext } from '../../core/contract/spec.js';
import { systemErrorText } from '../../core/contract/system-error.js';
import type { FileStatus, SystemFiles } from '../../core/contract/system-files.js';

/** True if the condition of an `if` is true for a request. */
type Test = (request: HttpRequest, log: Log | undefined) => boolean;

/** The condition of an `if`. */
export interface Condition {
  readonly test: Test;
  /** It is about a file. */
  readonly file?: FileCondition;
}

/** Ways to test for a file. */
interface FileCondition {
  /** Undefined: a disk has to be asked. */
  readonly testCached: (request: HttpRequest) => boolean | undefined;
  /** In another thread. */
  readonly testLater: (request: HttpRequest) => Promise<boolean>;
}

const FILE_TESTS: Readonly<Record<string, (stats: FileStatus) => boolean>> = {
  '-f': (stats) => stats.isFile(),
  '-d': (stats) => stats.isDirectory(),
  '-e': () => true,
  // Whether its owner may execute it, as nginx asks.
  '-x': (stats) => (stats.mode & 0o100) !== 0,
};

/**
 * Compiles the words of `if (…)`: a variable alone, compared with `=` or `!=`, matched with `~`, `~*`, `!~`, `!~*`, or a test of a file.
 * @param errors what stat() failures are written to
 * @throws ArgError in nginx's words
 */
export function compileCondition(written: readonly string[], context: ArgContext, errors: Log, files: SystemFiles): Condition {
  const words = withoutParentheses(written);
  const [first = '', operator, value] = words;
  const test = first.replace(/^!/, '');
  if (Object.hasOwn(FILE_TESTS, test)) return fileCondition(test, first.startsWith('!'), words.slice(1), context, errors, files);
  if (!/^\$./.test(first) || words.length === 2 || words.length > 3) throw invalid(first);
  const [variable] = context.parts(first);
  if (typeof variable !== 'function' || context.parts(first).length !== 1) throw invalid(first);
  const read = (request: HttpRequest): string => variable(request) ?? '';
  if (operator === undefined || value === undefined) return { test: (request) => isTrue(read(request)) };
  switch (operator) {
    case '=':
      return { test: equals(read, context.template(value), true) };
    case '!=':
      return { test: equals(read, context.template(value), false) };
    case '~':
    case '~*':
    case '!~':
    case '!~*':
      return { test: matches(read, value, operator.endsWith('*'), !operator.startsWith('!')) };
    default:
      throw new ArgError(`unexpected "${operator}" in condition`, 'one of: =, !=, ~, ~*, !~, !~*');
  }
}

const invalid = (word: string): ArgError => new ArgError(`invalid condition "${word}"`, 'a condition is written ($variable = value)');

function withoutParentheses(words: readonly string[]): readonly string[] {
  const [first = ''] = words;
  const last = words.at(-1) ?? '';
  if (!first.startsWith('(')) throw invalid(first);
  if (!last.endsWith(')')) throw invalid(last);
  const inner = words.map((word, at) => word.slice(at === 0 ? 1 : 0, at === words.length - 1 ? -1 : undefined));
  // A parenthesis may be a word of its own.
  return inner.filter((word, at) => word !== '' || (at > 0 && at < inner.length - 1));
}

function isTrue(value: string): boolean {
  return value !== '' && value !== '0';
}

function equals(read: (request: HttpRequest) => string, value: Template, wanted: boolean): Test {
  return (request) => (read(request) === value.of(request)) === wanted;
}

function matches(read: (request: HttpRequest) => string, source: string, caseless: boolean, wanted: boolean): Test {
  const pattern = compilePattern(source, caseless);
  return (request, log) => {
    const value = read(request);
    const captures = pattern.exec(value);
    log?.write('notice', `"${source}" ${captures === null ? 'does not match' : 'matches'} "${value}"`, request);
    if (captures !== null) request.captures = captures;
    return (captures !== null) === wanted;
  };
}

function fileCondition(
  test: string,
  negated: boolean,
  [path, ...more]: readonly string[],
  context: ArgContext,
  errors: Log,
  files: SystemFiles,
): Condition {
  if (path === undefined || more.length > 0) throw invalid(test);
  const file = context.template(path);
  // Paths are strings of bytes; relative ones are under the prefix.
  const pathFor = (request: HttpRequest): string => context.path(Buffer.from(file.of(request), 'latin1').toString());
  const isMet = (stats: FileStatus | false): boolean => (stats !== false && FILE_TESTS[test]?.(stats) === true) !== negated;
  const failed = (error: unknown, path: string, request: HttpRequest): false => {
    if (!NOT_FOUND.has((error as NodeJS.ErrnoException).code ?? ''))
      errors.write('crit', `stat() "${path}" failed (${systemErrorText(error)})`, request);
    return false;
  };
  const testNow = (request: HttpRequest, waits: boolean): boolean | undefined => {
    const path = pathFor(request);
    try {
      const stats = files.find(Buffer.from(path).latin1Slice(), waits);
      return stats === undefined ? undefined : isMet(stats);
    } catch (error) {
      return isMet(failed(error, path, request));
    }
  };
  return {
    test: (request) => testNow(request, true) === true,
    file: {
      testCached: (request) => testNow(request, false),
      testLater: (request) => {
        const path = pathFor(request);
        return stat(path).then(isMet, (error: unknown) => isMet(failed(error, path, request)));
      },
    },
  };
}

/** The path does not lead to a file that may be looked at. */
const NOT_FOUND = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG']);
