import { existsSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import test from 'ava';
import { check } from '../harness/check.js';
import { get } from '../harness/client.js';
import { runSrv, startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const MAIN = `daemon off;
helper broker modules/srv_helper_broker_module.so conf/broker.conf;
helper ctrl modules/srv_helper_ctrl_module.so conf/ctrl.conf;
error_log logs/error.log notice;
events {}
http { server { listen 127.0.0.1:%%PORT_web%%; return 200 "ok"; } }
`;
const CTRL = `events {}
http { server { listen 127.0.0.1:%%PORT_api%%; location /api { dyn_module_api; } } }
`;
const files = (ctrl: string, broker = ''): Record<string, string> => ({ 'conf/ctrl.conf': ctrl, 'conf/broker.conf': broker });

test('-t and a start look at the configurations of the helpers too, and tell every error with its place', async (t) => {
  const ctrl = 'foo;\nevents {}\nhttp {\n  server {\n    location /api { qux; }\n  }\n}\n';
  for (const args of [['-t'], []]) {
    const { code, stderr } = await runSrv(t, args, `bar;\n${MAIN}`, { files: files(ctrl, 'baz;\n') });
    t.is(code, 1);
    for (const place of [
      'unknown directive "bar" in .*/srv.conf:1',
      'unknown directive "baz" in .*/broker.conf:1',
      'unknown directive "foo" in .*/ctrl.conf:1',
      'unknown directive "qux" in .*/ctrl.conf:5',
    ])
      t.regex(stderr, new RegExp(`^srv: \\[emerg\\] ${place}$`, 'm'));
  }
});

test('what has no place of its own is reported at the helper line', async (t) => {
  const missing = await check(t, MAIN);
  t.is(missing.code, 1);
  for (const [name, line] of [
    ['broker', 2],
    ['ctrl', 3],
  ] as const)
    t.regex(
      missing.stderr,
      new RegExp(`open\\(\\) ".*/conf/${name}.conf" failed \\(2: No such file or directory\\) in .*/srv.conf:${line}\n`),
    );
  const empty = await check(t, MAIN, files(''));
  t.is(empty.code, 1);
  t.regex(empty.stderr, /no "events" section in configuration ".*\/ctrl\.conf" in .*\/srv\.conf:3\n/);
});

const line = (module: string): string => `load_module modules/${module}.so;\n`;

test('-t warns of modules of the API whose calls no module of the data plane carries out', async (t) => {
  const [api, both] = ['srv_http_upstream_api_module', 'srv_http_dyn_header_module'];
  const ctrl = files(`${line(api)}${line(both)}${line('srv_http_sendmsg_module')}${CTRL}`);
  const warnings = async (main: string): Promise<readonly string[]> => {
    const { code, stderr } = await check(t, main, ctrl);
    t.is(code, 0, stderr);
    return stderr.split('\n').filter((text) => text.includes('lacks a module'));
  };
  const [first, second, ...others] = await warnings(MAIN);
  t.regex(
    first ?? '',
    /"srv_http_upstream_api_module" .*add "load_module modules\/srv_http_upstream_member_module\.so;".* in \S+\/ctrl\.conf:1$/,
  );
  t.regex(
    second ?? '',
    /"srv_http_dyn_header_module" .*add "load_module modules\/srv_http_dyn_header_module\.so;".* in \S+\/ctrl\.conf:2$/,
  );
  t.deepEqual(others, []);
  t.deepEqual(await warnings(`${line('srv_http_upstream_member_module')}${line(both)}${MAIN}`), []);
});

test('a reload with an error in the configuration of a helper is rejected as a whole', async (t) => {
  const srv = await startSrv(t, MAIN, { files: files(CTRL) });
  await srv.configure(MAIN.replace('"ok"', '"changed"'));
  await srv.configure(`foo;\n${CTRL}`, 'conf/ctrl.conf');
  srv.signal('SIGHUP');
  await srv.waitForLog(/unknown directive "foo" in .*ctrl.conf:1\n[^]*the current configuration stays as it was/);
  t.is((await get(srv.port('web'), '/')).body, 'ok');
});

test('a reload starts a helper at once that waits to be started again', async (t) => {
  const srv = await startSrv(t, MAIN, { files: files(CTRL) });
  const deaths = (): RegExpMatchArray[] => [...srv.log().matchAll(/start helper ctrl, process (\d+)/g)];
  for (let death = 1; death <= 6; death++) {
    const started = await waitFor(`start ${death}`, () => deaths()[death - 1]?.[1]);
    process.kill(Number(started), 'SIGKILL');
  }
  await srv.waitForLog(/helper ctrl .* it is started again in 6400 ms/);
  srv.signal('SIGHUP');
  // Not after those seconds: before the reload is over.
  t.truthy(await srv.waitForLog(/reconfiguring\n[^]*start helper ctrl, process \d+\n[^]*reconfigured\n/));
  t.is(deaths().length, 7);
});

test('a start reports that a helper cannot do its work, and traffic goes on', async (t) => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  t.teardown(() => taken.close());
  const { port } = taken.address() as AddressInfo;
  const ctrl = CTRL.replace('%%PORT_api%%', String(port));
  const refusal = `srv: [emerg] helper ctrl: module "srv_helper_ctrl_module" failed to start: bind() to 127.0.0.1:${port} failed (98: Address already in use)\n`;
  const srv = await startSrv(t, MAIN, { files: files(ctrl) });
  await waitFor('the message', () => srv.stderr === refusal);
  t.is((await get(srv.port('web'), '/')).body, 'ok');
  await srv.stop();
  const { code, stderr, prefix } = await runSrv(t, [], MAIN.replace('daemon off', 'daemon on'), { files: files(ctrl) });
  const stopped = await runSrv(t, ['-s', 'stop'], undefined, { prefix });
  t.is(code, 0);
  t.is(stderr, refusal);
  t.is(stopped.code, 0);
  await waitFor('the end of the server', () => !existsSync(`${prefix}/logs/srv.pid`));
});
