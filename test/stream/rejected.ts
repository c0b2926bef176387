import test from 'ava';
import { check } from '../harness/check.js';
import { shared } from '../harness/scope.js';

/**
 * A test for each line of a `stream` block that is rejected with a message. One run has them all: they have to be errors of one kind, since what
 * is wrong with arguments keeps a configuration from being compiled.
 */
export function rejects(cases: readonly (readonly [line: string, message: RegExp])[]): void {
  const checked = shared((scope) => check(scope, `events {} stream {\n${cases.map(([line]) => line).join('\n')}\n}`));
  for (const [at, [line, message]] of cases.entries())
    test(`rejected as by nginx: ${line}`, async (t) => {
      const { stderr } = await checked();
      const place = `:${at + 2}`;
      const errors = stderr.split('\n').filter((one) => one.startsWith('srv: [emerg]') && one.endsWith(place));
      t.regex(errors.join('\n'), message);
    });
}
