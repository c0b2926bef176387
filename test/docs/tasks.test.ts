/**
 * The pages of docs/tasks and docs/srvctl.md are followed line by line, on a node with the shipped configuration; those of tasks again in the reverse
 * order, because each is to leave the node as it found it.
 */
import { chmodSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { get } from '../harness/client.js';
import { shared } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { writeInto } from '../harness/temp.js';
import { matches, run, steps } from './sessions.js';
import { readRoot, ROOT } from './source-files.js';

/** The ports of the shipped configuration. */
const SHIPPED = ['8080', '8081', '9101', '9102', '9103', '9104'];
const PORTS = new RegExp(`\\b(${SHIPPED.join('|')})\\b`, 'g');

const shippedFile = (file: string): string => readRoot(`conf/${file}`).replaceAll(PORTS, '%%PORT_$1%%');

const node = shared(async (scope) => {
  const conf = shippedFile('srv.conf').replace('worker_processes auto', 'worker_processes 2');
  const files = Object.fromEntries(['srv_ctrl.conf', 'srv_broker.conf'].map((file) => [`conf/${file}`, shippedFile(file)]));
  const srv = await startSrv(scope, conf, { files });
  await waitFor('the API', () =>
    get(srv.port('8081'), '/api/v1/history').then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
  const srvctl = `#!/bin/sh\nexec '${process.execPath}' '${join(ROOT, 'dist/core/ctl/srvctl.js')}' "$@"\n`;
  chmodSync(writeInto(srv.prefix, 'bin/srvctl', srvctl), 0o755);
  return srv;
});

/** What is printed, as the page would have it. */
async function printed(srv: Srv, command: string): Promise<string> {
  const here = command.replaceAll(PORTS, (port) => String(srv.port(port)));
  const env = {
    ...process.env,
    PATH: `${join(srv.prefix, 'bin')}:${process.env['PATH']}`,
    HOME: srv.prefix,
    SRVCTL_SERVER: `http://127.0.0.1:${srv.port('8081')}`,
  };
  const output = await run(here, srv.prefix, env);
  const shipped = new Map(SHIPPED.map((port) => [String(srv.port(port)), port]));
  const named = output.replaceAll(/\b\d{4,5}\b/g, (number) => shipped.get(number) ?? number);
  return named.endsWith('\n') || named === '' ? named : `${named}\n`;
}

const tasks = readdirSync(join(ROOT, 'docs/tasks'))
  .filter((name) => name !== 'README.md')
  .map((name) => `tasks/${name}`);
const sequence = [...tasks, 'srvctl.md', ...tasks.toReversed()];
for (const [index, file] of sequence.entries()) {
  const what = index > tasks.length ? 'can be followed again, in another order' : 'can be followed';
  test.serial(`docs/${file} ${what}`, async (t) => {
    const page = steps(readRoot(`docs/${file}`));
    t.true(page.length > 0);
    for (const { command, output } of page) {
      const actual = await printed(await node(), command);
      t.true(matches(output, actual), `$ ${command}\n${actual}\nexpected:\n${output}`);
    }
    const drift = await get((await node()).port('8081'), '/api/v1/config/drift');
    t.is(drift.body, '{"diff":[]}', 'the page leaves the node as it was');
  });
}
