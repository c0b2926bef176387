import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { shared } from '../harness/scope.js';
import { SRV } from '../harness/srv.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import { nodeConf, startNode, type Node } from '../control/node.js';
import { apiReady, childrenOf, commandOf, commandUpgrade, endWithTest, pidOf, upgrade } from './replaced.js';

interface Stage {
  readonly node: Node;
  /** The script that the server was started with, a link to the real one. */
  readonly script: string;
}

const OPTIONS = { http: 'upstream demo { zone demo 256k; server 127.0.0.1:1; } ', server: 'location / { return 200 "$pid"; }' };

/** One server, which is never replaced before the last test. */
const stage = shared(async (t): Promise<Stage> => {
  const script = join(tempFolder(t), 'srv.js');
  symlinkSync(SRV, script);
  const node = await startNode(t, { ...OPTIONS, command: script });
  endWithTest(t, node.srv);
  return { node, script };
});

/** It is the same process, serves, and takes changes. */
async function assertUnchanged(t: ExecutionContext, node: Node, server: string): Promise<void> {
  t.is((await node.web()).body, String(pidOf(node.srv)));
  t.is(pidOf(node.srv), node.srv.pid);
  const { status, body } = await node.upstreams('POST', '/demo/servers/', { server, down: true });
  t.is(status, 201, body);
}

test.serial('a broken configuration is told by -s upgrade, and the server goes on', async (t) => {
  const { node, script } = await stage();
  await node.srv.configure(`${nodeConf(OPTIONS)} nonsense;`);
  const { code, stderr } = await commandUpgrade(node.srv, script);
  t.is(code, 1);
  t.regex(stderr, /srv: \[emerg\] unknown directive "nonsense"/);
  t.regex(node.srv.log(), /upgrade failed: srv: \[emerg\] unknown directive "nonsense"/);
  await node.srv.configure(nodeConf(OPTIONS));
  await assertUnchanged(t, node, '127.0.0.1:2');
});

test.serial('a new program that cannot start leaves the server as it was', async (t) => {
  const { node, script } = await stage();
  rmSync(script);
  writeFileSync(script, 'process.exit(3);');
  const command = await commandUpgrade(node.srv);
  rmSync(script);
  symlinkSync(SRV, script);
  t.is(command.code, 1);
  t.regex(command.stderr, /the new program exited with code 3/);
  await assertUnchanged(t, node, '127.0.0.1:3');
});

/** Kills the new program once the log has a line about it. */
async function killedAfter(node: Node, pattern: RegExp): Promise<string> {
  const before = node.srv.log().length;
  node.srv.signal('SIGUSR2');
  const pid = await waitFor('the new program', () => {
    if (!pattern.test(node.srv.log().slice(before))) return undefined;
    return childrenOf(node.srv.pid).find((child) => !/^$|helper/.test(commandOf(child)));
  });
  process.kill(pid, 'SIGKILL');
  await waitFor('the failure', () => /upgrade failed/.test(node.srv.log().slice(before)), 30_000);
  return node.srv.log().slice(before);
}

test.serial('kill -9 of the new program leaves the server as it was, before and after it has the data folder', async (t) => {
  const { node } = await stage();
  t.regex(await killedAfter(node, /upgrade: starting the new program/), /upgrade failed: the new program was ended by SIGKILL/);
  await assertUnchanged(t, node, '127.0.0.1:4');
  t.regex(await killedAfter(node, /upgrade: process \d+ has checked/), /upgrade failed: the new program was ended by SIGKILL/);
  await assertUnchanged(t, node, '127.0.0.1:5');
});

test.serial('after all failures an upgrade takes over what was changed meanwhile', async (t) => {
  const { node, script } = await stage();
  const { code, stderr } = await commandUpgrade(node.srv, script);
  t.is(code, 0, stderr);
  await apiReady(node);
  t.deepEqual(
    (await node.members()).map(({ server }) => server),
    [1, 2, 3, 4, 5].map((port) => `127.0.0.1:${port}`),
  );
  const second = pidOf(node.srv);
  t.not(await upgrade(node.srv), second, 'and that one can be replaced as well');
});
