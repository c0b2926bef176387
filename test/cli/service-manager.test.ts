import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import test from 'ava';
import { startSrv } from '../harness/srv.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import { endWithTest, upgrade } from '../upgrade/replaced.js';

/** Writes down what it would tell. */
const NOTIFY = `#!/bin/sh
echo "$NOTIFY_SOCKET: $*" >> "$TOLD"
`;

const conf = (text: string): string => `error_log logs/error.log notice;
events {}
http { server { listen 127.0.0.1:%%PORT_web%%; return 200 "${text}"; } }`;

test('systemd is told that the server is ready, reloads, lives and stops', async (t) => {
  const bin = tempFolder(t);
  writeFileSync(`${bin}/systemd-notify`, NOTIFY, { mode: 0o755 });
  const env = { NOTIFY_SOCKET: '@srv', WATCHDOG_USEC: '200000', TOLD: `${bin}/told`, PATH: `${bin}:${process.env['PATH']}` };
  const srv = await startSrv(t, conf('before'), { env });
  const told = (pattern: RegExp): Promise<unknown> =>
    waitFor(String(pattern), () => existsSync(env.TOLD) && pattern.test(readFileSync(env.TOLD, 'utf8')));
  await told(/^@srv: READY=1 STATUS=serves\n@srv: WATCHDOG=1\n@srv: WATCHDOG=1\n/);
  await srv.configure(conf('after'));
  srv.signal('SIGHUP');
  await told(/RELOADING=1 MONOTONIC_USEC=\d+\n(?:@srv: WATCHDOG=1\n)*@srv: READY=1/);
  t.deepEqual(await srv.stop('SIGQUIT'), { code: 0, signal: null });
  await told(/STOPPING=1/);
});

test('systemd learns of the new main process of an upgrade', async (t) => {
  const bin = tempFolder(t);
  writeFileSync(`${bin}/systemd-notify`, NOTIFY, { mode: 0o755 });
  const env = { NOTIFY_SOCKET: '@srv', TOLD: `${bin}/told`, PATH: `${bin}:${process.env['PATH']}` };
  const srv = await startSrv(t, conf('serves'), { env });
  endWithTest(t, srv);
  const pid = await upgrade(srv);
  await waitFor('the number of the new process', () => readFileSync(env.TOLD, 'utf8').includes(`MAINPID=${pid}\n`));
  await waitFor('the end of the old process', () => !srv.running, 30_000);
  t.not(pid, srv.pid);
});

test('without the program a server works, and says once that systemd learns nothing', async (t) => {
  const srv = await startSrv(t, conf('works'), { env: { NOTIFY_SOCKET: '@srv', WATCHDOG_USEC: '100000', PATH: tempFolder(t) } });
  await srv.waitForLog(/\[error\] .*systemd-notify failed/);
  srv.signal('SIGHUP');
  await srv.waitForLog(/reconfigured/);
  t.is(srv.log().match(/systemd-notify failed/g)?.length, 1);
});
