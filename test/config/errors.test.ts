import test from 'ava';
import { formatConfigErrors, messageWithPlace } from '../../core/config/error-report.js';
import { ConfigError, ConfigErrors, configErrorsOf, errorAt } from '../../core/config/errors.js';
import { systemErrorText } from '../../core/contract/system-error.js';

const SOURCE = { file: 'a.conf', line: 3, column: 5, from: { file: 'srv.conf', line: 2, column: 9 } };

test('errors survive the way between threads', (t) => {
  const errors = new ConfigErrors([new ConfigError('wrong', SOURCE, 4, 'do it right'), new ConfigError('elsewhere', undefined)]);
  const back = ConfigErrors.fromData(structuredClone(errors.toData()));
  t.true(back.errors.every((error) => error instanceof ConfigError));
  t.deepEqual(back.toData(), errors.toData());
  t.is(back.message, 'wrong; elsewhere');
});

test('errors are distinguished from other failures', (t) => {
  const error = new ConfigError('wrong', SOURCE);
  t.deepEqual(configErrorsOf(error), [error]);
  t.deepEqual(configErrorsOf(new ConfigErrors([error, error])), [error, error]);
  t.is(configErrorsOf(new Error('other')), undefined);
});

test('an error at a word covers the word with its quotes', (t) => {
  const word = { text: 'a b', quote: '"' as const, line: 4, column: 7 };
  const error = errorAt({ name: 'x', args: [word], source: SOURCE }, 'wrong', word);
  t.like(error, { length: 5, source: { file: 'a.conf', line: 4, column: 7, from: { file: 'srv.conf' } } });
  t.like(errorAt({ name: 'name', args: [word], source: SOURCE }, 'wrong'), { length: 4, source: { line: 3, column: 5 } });
});

test('a source that cannot be read is left out of the report', (t) => {
  const report = formatConfigErrors([new ConfigError('wrong', SOURCE, 4, 'do it right')], { program: 'srv', readLine: () => undefined });
  t.is(report, 'srv: [emerg] wrong in a.conf:3\n    at a.conf:3:5\n    included from srv.conf:2\n    do it right\n');
});

test('an error without a place is its message', (t) => {
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

function systemError(code: string, errno: number): NodeJS.ErrnoException {
  return Object.assign(new Error(code), { code, errno });
}

test('failures of the system are named as nginx names them', (t) => {
  t.is(systemErrorText(systemError('EADDRINUSE', -98)), '98: Address already in use');
  t.is(systemErrorText(systemError('ECONNREFUSED', -111)), '111: Connection refused');
  t.is(systemErrorText(systemError('EHOSTUNREACH', -113)), '113: No route to host');
  t.is(systemErrorText(systemError('EADDRNOTAVAIL', -99)), '99: Cannot assign requested address');
  t.is(systemErrorText(systemError('EACCES', -13)), '13: Permission denied');
  t.is(systemErrorText(systemError('ENAMETOOLONG', -36)), '36: File name too long');
  t.is(systemErrorText(systemError('EMFILE', -24)), '24: Too many open files');
  t.is(systemErrorText(systemError('ENOENT', -2)), '2: No such file or directory');
  t.is(systemErrorText(systemError('ENOTDIR', -20)), '20: Not a directory');
  t.is(systemErrorText(systemError('EPERM', -1)), '1: Operation not permitted');
  t.is(systemErrorText(systemError('EISDIR', -21)), '21: Is a directory');
  t.is(systemErrorText(systemError('ELOOP', -40)), '40: Too many levels of symbolic links');
  t.is(systemErrorText(systemError('EWEIRD', -9999)), '9999: EWEIRD');
  t.is(systemErrorText(new Error('something else')), 'something else');
});
