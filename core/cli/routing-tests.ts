import { readFileSync } from 'node:fs';
import type { Installation } from '../kernel/installation.js';
import { ExplainError, type Explainer, type Explanation } from '../contract/explain.js';
import { systemErrorText } from '../contract/system-error.js';
import { readExplained, type Output } from './explained-configuration.js';
import { parseRoutingTests, type Expected, type RoutingTest } from './routing-test-file.js';
import type { Subcommand } from './subcommands.js';

const PASSED = 0;
const FAILED = 1;
/** The tests were not run: the file or the configuration cannot be used. */
const NOT_RUN = 2;

interface Failure {
  readonly what: Expected | 'request';
  readonly expected: string;
  readonly found: string;
}

interface TestResult {
  readonly line: number;
  readonly request: string;
  readonly passed: boolean;
  readonly failures: readonly Failure[];
}

/** Carries out `srv test FILE`. Returns the exit code. */
export async function runRoutingTests(command: Subcommand, installation: Installation, output: Output): Promise<number> {
  const { subject: file } = command;
  const tests = readTests(file, output);
  if (tests === undefined) return NOT_RUN;
  const configuration = await readExplained(command, installation, output);
  if (configuration === undefined) return NOT_RUN;
  const defaults = { ...(command.client && { client: command.client }), ...(command.listen && { listen: command.listen }) };
  const results = tests.map((test) => runTest({ ...test, question: { ...defaults, ...test.question } }, configuration.explainer));
  await configuration.end();
  const failed = results.filter(({ passed }) => !passed);
  const counts = { passed: results.length - failed.length, failed: failed.length };
  if (command.json) output.stdout(`${JSON.stringify({ file, ...counts, results }, undefined, 2)}\n`);
  else output.stdout(`${failed.map((result) => failureText(file, result)).join('')}${summary(counts)}\n`);
  return failed.length === 0 ? PASSED : FAILED;
}

/** Undefined: what is wrong with the file has been said. */
function readTests(file: string, { stderr }: Output): readonly RoutingTest[] | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    stderr(`srv: open() "${file}" failed (${systemErrorText(error)})\n`);
    return undefined;
  }
  const { tests, errors } = parseRoutingTests(text);
  for (const { line, message } of errors) stderr(`srv: ${file}:${line}: ${message}\n`);
  if (errors.length > 0) return undefined;
  if (tests.length > 0) return tests;
  stderr(`srv: ${file} has no tests: a line is written like GET http://a.org/x -> location=/x\n`);
  return undefined;
}

function runTest({ line, text, question, expected }: RoutingTest, explainer: Explainer): TestResult {
  const result = (failures: readonly Failure[]): TestResult => ({ line, request: text, passed: failures.length === 0, failures });
  let explanation: Explanation;
  try {
    explanation = explainer.explain(question);
  } catch (error) {
    if (!(error instanceof ExplainError)) throw error;
    return result([{ what: 'request', expected: 'an explanation', found: error.message }]);
  }
  const failures: Failure[] = [];
  for (const [what, value] of expected) {
    const found = foundIn(explanation, what);
    if (!found.includes(value)) failures.push({ what, expected: value, found: found[0] ?? 'none' });
  }
  return result(failures);
}

/** Names that a test may use for it; the first is shown. */
function foundIn({ listener, server, locations, response, upstream }: Explanation, what: Expected): readonly string[] {
  switch (what) {
    case 'listener':
      return [listener.address];
    case 'server':
      return server === undefined ? ['none'] : [server.name, ...server.names];
    case 'location':
      return [locations.at(-1)?.location ?? 'none'];
    case 'status':
      return [response.status === undefined ? (STATUS_WORDS[response.by] ?? 'unknown') : String(response.status)];
    case 'upstream':
      return [upstream?.name ?? 'none'];
    case 'member':
      return [upstream?.member ?? 'none'];
    case 'uri':
      return [upstream?.uri ?? 'none'];
    case 'redirect':
      return [response.location ?? 'none'];
  }
}

/** In the place of an unknown status. */
const STATUS_WORDS: Readonly<Record<string, string>> = { upstream: 'upstream', connection: 'closed' };

function failureText(file: string, { line, request, failures }: TestResult): string {
  return failures
    .map(({ what, expected, found }) =>
      what === 'request'
        ? `${file}:${line}: ${request}: ${found}\n`
        : `${file}:${line}: ${request}: ${what} is "${found}", expected "${expected}"\n`,
    )
    .join('');
}

function summary({ passed, failed }: { readonly passed: number; readonly failed: number }): string {
  return failed === 0 ? `${passed} passed` : `${failed} failed, ${passed} passed`;
}
