import { readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { ErrorLog } from '../../core/log/error-log.js';
import { AppendedLogFiles } from '../../core/log/log-files.js';
import { tempFolder } from '../harness/temp.js';

function open(t: ExecutionContext): { files: AppendedLogFiles; folder: string; read: (name: string) => string } {
  const files = new AppendedLogFiles();
  const folder = tempFolder(t);
  t.teardown(() => files.close());
  return {
    files,
    folder,
    read(name) {
      files.flush();
      return readFileSync(`${folder}/${name}`, 'utf8');
    },
  };
}

test('each target takes its level and the more severe ones', (t) => {
  const { files, folder, read } = open(t);
  const log = new ErrorLog(files, '1#0', [
    { path: `${folder}/warn`, level: 'warn' },
    { path: `${folder}/crit`, level: 'crit' },
  ]);
  for (const level of ['debug', 'info', 'notice', 'warn', 'error', 'crit', 'alert', 'emerg'] as const) log.write(level, level);
  t.deepEqual(read('warn').match(/\w+$/gm), ['warn', 'error', 'crit', 'alert', 'emerg']);
  t.deepEqual(read('crit').match(/\w+$/gm), ['crit', 'alert', 'emerg']);
});

test('enabled says whether any target would take it', (t) => {
  const { files, folder } = open(t);
  const log = new ErrorLog(files, '1#0', [{ path: `${folder}/a`, level: 'notice' }]);
  t.true(log.enabled('notice'));
  t.true(log.enabled('emerg'));
  t.false(log.enabled('info'));
});

test('other targets replace those of the start', (t) => {
  const { files, folder, read } = open(t);
  const log = new ErrorLog(files, '1#0', [{ path: `${folder}/early`, level: 'notice' }]);
  log.write('notice', 'one');
  log.configure(log.open([{ path: `${folder}/late`, level: 'info' }]));
  log.write('info', 'two');
  t.regex(read('early'), /^\S+ \S+ \[notice\] 1#0: one\n$/);
  t.regex(read('late'), /^\S+ \S+ \[info\] 1#0: two\n$/);
});
