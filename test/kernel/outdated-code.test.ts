/** Code that a reload does not load is reported when it has changed on disk. */
import { rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { changedProgramFile } from '../../core/kernel/outdated-code.js';
import { plugin } from '../harness/plugins.js';
import { startSrv } from '../harness/srv.js';
import { tempFolder, writeInto } from '../harness/temp.js';

test('a file of the program that was put there later is found, whatever its time of modification is', (t) => {
  const program = tempFolder(t);
  writeInto(program, 'core/cli/main.js', '');
  writeInto(program, 'core/cli/main.js.map', '');
  writeInto(program, 'modules/x/srv_http_x_module.js', '');
  const file = join(program, 'modules/x/srv_http_x_module.js');
  utimesSync(file, 0, 0);
  const { ctimeMs } = statSync(file);
  t.is(changedProgramFile(program, ctimeMs), undefined);
  t.is(changedProgramFile(program, ctimeMs - 0.001), file);
  writeInto(program, 'test/main.js', '');
  rmSync(join(program, 'modules'), { recursive: true });
  t.is(changedProgramFile(program, ctimeMs), undefined, 'other folders are not of the program');
});

/** A helper that does nothing. */
const idle = (text: string): string =>
  plugin('idle', { kind: 'helper', manifest: `helper: 'broker'`, body: `start() { /* ${text} */ setInterval(() => {}, 1000); }` });

test('a reload warns of a changed module of a helper line, which an upgrade runs', async (t) => {
  const conf = `error_log logs/error.log notice; helper broker modules/idle.so conf/idle.conf; events {}
    http { server { listen 127.0.0.1:%%PORT_web%%; return 200; } }`;
  const srv = await startSrv(t, conf, { files: { 'modules/idle.js': idle('one'), 'conf/idle.conf': '' } });
  srv.signal('SIGHUP');
  await srv.waitForLog(/ reconfigured/);
  t.notRegex(srv.log(), /has changed since/);
  writeInto(srv.prefix, 'modules/idle.js', idle('two'));
  srv.signal('SIGHUP');
  await srv.waitForLog(/\[warn\].*modules\/idle\.js" has changed since it was loaded: "srv -s upgrade" or a restart runs it/);
  await srv.waitForLog(/ reconfigured[^]* reconfigured/);
  t.notRegex(srv.log(), /the program has changed/);
});
