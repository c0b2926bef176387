import test from 'ava';
import { formatConfigErrors, messageWithPlace } from '../../core/config/error-report.js';
import { ConfigError, ConfigErrors, configErrorsOf, errorAt } from '../../core/config/errors.js';
import { systemErrorText } from '../../core/config/system-error.js';

const SOURCE = { file: 'a.conf', line: 3, column: 5, from: { file: 'srv.conf', line: 2, column: 9 } };

test('mistakes survive the way between threads', (t) => {
  const errors = new ConfigErrors([new ConfigError('wrong', SOURCE, 4, 'do it right'), new ConfigError('elsewhere', undefined)]);
  const back = ConfigErrors.fromData(structuredClone(errors.toData()));
  t.true(back.errors.every((error) => error instanceof ConfigError));
  t.deepEqual(back.toData(), errors.toData());
  t.is(back.message, 'wrong; elsewhere');
});

test('mistakes are told from other failures', (t) => {
  const error = new ConfigError('wrong', SOURCE);
  t.deepEqual(configErrorsOf(error), [error]);
  t.deepEqual(configErrorsOf(new ConfigErrors([error, error])), [error, error]);
  t.is(configErrorsOf(new Error('other')), undefined);
});

test('a mistake at a word covers the word with its quotes', (t) => {
  const word = { text: 'a b', quote: '"' as const, line: 4, column: 7 };
  const error = errorAt({ name: 'x', args: [word], source: SOURCE }, 'wrong', word);
  t.like(error, { length: 5, source: { file: 'a.conf', line: 4, column: 7, from: { file: 'srv.conf' } } });
  t.like(errorAt({ name: 'name', args: [word], source: SOURCE }, 'wrong'), { length: 4, source: { line: 3, column: 5 } });
});

test('a source that cannot be read is left out of the report', (t) => {
  const report = formatConfigErrors([new ConfigError('wrong', SOURCE, 4, 'do it right')], { program: 'srv', readLine: () => undefined });
  t.is(report, 'srv: [emerg] wrong in a.conf:3\n    at a.conf:3:5\n    included from srv.conf:2\n    do it right\n');
});

test('a mistake without a place is its message', (t) => {
  t.is(messageWithPlace(new ConfigError('no "events" section in configuration', undefined)), 'no "events" section in configuration');
});

test('carets stay below the line', (t) => {
  const source = { file: 'a', line: 1, column: 3 };
  const lines = (line: string, length: number): readonly string[] =>
    formatConfigErrors([new ConfigError('wrong', source, length)], { program: 'srv', readLine: () => line })
      .split('\n')
      .slice(2, 4);
  t.deepEqual(lines('abcd', 99), ['    1 | abcd', '      |   ^^']);
  t.deepEqual(lines('a', 1), ['    1 | a', '      |  ^']);
});

function failure(code: string, errno: number): Error {
  return Object.assign(new Error('message'), { code, errno });
}

test('failures of the system are named as nginx names them', (t) => {
  t.is(systemErrorText('open', '/x', failure('EACCES', -13)), 'open() "/x" failed (13: Permission denied)');
  t.is(systemErrorText('open', '/x', failure('EWEIRD', -99)), 'open() "/x" failed (99: EWEIRD)');
  t.is(systemErrorText('open', '/x', new Error('it is odd')), 'open() "/x" failed (it is odd)');
});
