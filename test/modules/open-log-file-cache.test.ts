/** Access logs whose names contain variables, and open_log_file_cache. */
import { renameSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { check } from '../harness/check.js';
import { get } from '../harness/client.js';
import { openDescriptors } from '../harness/descriptors.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const conf = (cache: string): string => `
worker_processes 1;
error_log logs/error.log notice;
events {}
http {
  log_format short "$request_uri";
  ${cache}
  server {
    listen 127.0.0.1:%%PORT_web%%;
    location / { access_log logs/$arg_name.log short; return 200; }
    location /nodir { access_log logs/nodir/$arg_name.log short; return 200; }
  }
}`;

const start = (t: ExecutionContext, cache: string): Promise<Srv> => startSrv(t, conf(cache));

/** Requests that are logged under these names, one after the other. */
async function log(srv: Srv, names: Iterable<string | number>): Promise<void> {
  for (const name of names) {
    await get(srv.port('web'), `/?name=${name}`);
    await srv.waitForLog(/./, `logs/${name}.log`);
  }
}

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at);

test('without a cache no descriptor is kept, and a file that was moved gets no more lines', async (t) => {
  const srv = await start(t, '');
  await log(srv, ['first']);
  const before = openDescriptors(srv.pid);
  await log(srv, numbers(60));
  await waitFor('the files to be closed', () => openDescriptors(srv.pid) <= before + 2);
  renameSync(srv.path('logs/first.log'), srv.path('logs/moved.log'));
  await log(srv, ['first']);
  t.is(srv.read('logs/moved.log'), '/?name=first\n');
  t.is(srv.read('logs/first.log'), '/?name=first\n');
});

test('a cache keeps at most "max" files open, and closes those that nobody uses', async (t) => {
  const srv = await start(t, 'open_log_file_cache max=20 inactive=1s;');
  const before = openDescriptors(srv.pid);
  await log(srv, numbers(10));
  t.true(openDescriptors(srv.pid) >= before + 5);
  await log(srv, numbers(60));
  t.true(openDescriptors(srv.pid) <= before + 22);
  await waitFor('the files to be closed', () => openDescriptors(srv.pid) <= before + 2);
});

test('a file in the cache is written to until "valid" is over, also when it was moved', async (t) => {
  const srv = await start(t, 'open_log_file_cache max=20 valid=2s;');
  await log(srv, ['a']);
  renameSync(srv.path('logs/a.log'), srv.path('logs/a-again.log'));
  await get(srv.port('web'), '/?name=a');
  await srv.waitForLog(/(.*\n){2}/, 'logs/a-again.log');
  await sleep(2100);
  await log(srv, ['a']);
  t.is(srv.read('logs/a-again.log'), '/?name=a\n/?name=a\n');
});

test('USR1 opens the files of the cache again', async (t) => {
  const srv = await start(t, 'open_log_file_cache max=20;');
  await log(srv, ['a']);
  renameSync(srv.path('logs/a.log'), srv.path('logs/a-moved.log'));
  srv.signal('SIGUSR1');
  t.truthy(
    await waitFor('the new file', async () => {
      await get(srv.port('web'), '/?name=a');
      return srv.read('logs/a.log') || undefined;
    }),
  );
});

test('a file that gets fewer lines than "min_uses" is not kept', async (t) => {
  const srv = await start(t, 'open_log_file_cache max=60 min_uses=2;');
  const before = openDescriptors(srv.pid);
  await log(srv, numbers(30));
  await waitFor('the files to be closed', () => openDescriptors(srv.pid) <= before + 2);
  for (const name of numbers(10)) await get(srv.port('web'), `/?name=${name}`);
  t.true(await waitFor('those that are used to stay open', () => openDescriptors(srv.pid) >= before + 9));
});

test('a name that cannot be opened costs the line, and is logged with its request', async (t) => {
  const srv = await start(t, '');
  t.is((await get(srv.port('web'), '/nodir?name=x')).status, 200);
  await srv.waitForLog(
    /\[crit\] .*open\(\) ".*logs\/nodir\/x\.log" failed \(2: No such file or directory\) while logging request, client: /,
  );
});

for (const [line, message] of [
  ['open_log_file_cache inactive=1s;', /"open_log_file_cache" must have "max" parameter in .*:\d+/],
  ['open_log_file_cache max=a;', /\[emerg\] .*max=?.*in .*:\d+/],
  ['access_log logs/$arg_x.log combined buffer=32k;', /buffered logs cannot have variables in name in .*:\d+/],
] as const) {
  test(`rejected: ${line}`, async (t) => {
    const { code, stderr } = await check(t, conf(line));
    t.is(code, 1);
    t.regex(stderr, message);
  });
}
