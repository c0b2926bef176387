/**
 * The pages of docs/tasks and docs/srvctl.md are followed line by line, on a node with the shipped configuration; those of tasks again in the reverse
 * order, because each is to leave the node as it found it. A block of type `console` is a session:
 * behind `$ ` there is what somebody types, below it what is printed. `…` stands for anything.
 */
import { execFile } from 'node:child_process';
import { chmodSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { run as srvctl } from '../../core/ctl/main.js';
import { get } from '../harness/client.js';
import { shared } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { writeInto } from '../harness/temp.js';
import { readRoot, ROOT } from './source-files.js';

/** The ports of the shipped configuration. */
const SHIPPED = ['8080', '8081', '9101', '9102', '9103', '9104'];
const PORTS = new RegExp(`\\b(${SHIPPED.join('|')})\\b`, 'g');
const LIMIT_MS = 60_000;

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

interface Step {
  readonly command: string;
  readonly output: string;
}

function steps(page: string): Step[] {
  const sessions = Array.from(page.matchAll(/^```console\n(.*?)^```$/gms), ([, session = '']) => session);
  return sessions.flatMap((session) =>
    session
      .split(/^\$ /m)
      .slice(1)
      .map((step) => {
        const [command = ''] = /^.*<<'END'\n[^]*?^END\n|^(?:.*\\\n)*.*\n/m.exec(step) ?? [];
        return { command: command.trim(), output: step.slice(command.length) };
      }),
  );
}

/** A call of srvctl from which a shell would make nothing else: words, some of them in quotes. */
const PLAIN_CALL = /^srvctl(?: +(?:'[^']*'|[^\s'"\\$`|<>&;()*?~#[\]{}]+))+$/;

function run(command: string, { prefix: cwd, port }: { prefix: string; port: number }): Promise<string> {
  const env = {
    ...process.env,
    PATH: `${join(cwd, 'bin')}:${process.env['PATH']}`,
    HOME: cwd,
    SRVCTL_SERVER: `http://127.0.0.1:${port}`,
  };
  if (PLAIN_CALL.test(command)) return runHere(command, cwd, env);
  return new Promise((resolve, reject) => {
    execFile('bash', ['-c', `set -o pipefail; ${command}`], { cwd, env, timeout: LIMIT_MS }, (error, stdout, stderr) =>
      error && stdout === '' ? reject(new Error(`${command}: ${error.message}${stderr}`)) : resolve(stdout),
    );
  });
}

/** In this process: most of the time of a call is that of its process. */
async function runHere(command: string, cwd: string, env: NodeJS.ProcessEnv): Promise<string> {
  process.chdir(cwd);
  let [stdout, stderr] = ['', ''];
  const argv = command.match(/'[^']*'|[^\s']+/g)?.map((word) => word.replaceAll("'", '')) ?? [];
  const code = await srvctl(argv.slice(1), {
    env,
    version: '0',
    color: false,
    stdout: (text) => void (stdout += text),
    stderr: (text) => void (stderr += text),
  });
  if (code !== 0 && stdout === '') throw new Error(`${command}: ${stderr}`);
  return stdout;
}

/** What is printed, as the page would have it. */
async function printed(srv: Srv, command: string): Promise<string> {
  const here = command.replaceAll(PORTS, (port) => String(srv.port(port)));
  const output = await run(here, { prefix: srv.prefix, port: srv.port('8081') });
  const shipped = new Map(SHIPPED.map((port) => [String(srv.port(port)), port]));
  const named = output.replaceAll(/\b\d{4,5}\b/g, (number) => shipped.get(number) ?? number);
  return named.endsWith('\n') || named === '' ? named : `${named}\n`;
}

/** The width of a column depends on its values, and ports differ here. */
const narrow = (text: string): string => text.replaceAll(/(?<=\S) {2,}(?=\S)/g, '  ');

function matches(expected: string, actual: string): boolean {
  const pattern = narrow(expected)
    .split('…')
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
    .join('[^]*?');
  return new RegExp(`^${pattern}$`).test(narrow(actual));
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
