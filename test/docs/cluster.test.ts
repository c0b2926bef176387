/** The first section of docs/cluster.md is followed line by line, on free ports. */
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../harness/ports.js';
import { RedisServer, testRedis } from '../harness/redis.js';
import { tempFolder, writeInto } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import { matches, run, steps } from './sessions.js';
import { readRoot, ROOT } from './source-files.js';

/** Of Redis, of the requests and of the API of each node. */
const PORTS = ['6379', '8088', '8188', '8081', '8181'];

testRedis('redis-server: the first two nodes of docs/cluster.md', async (t) => {
  const redis = await RedisServer.start(t);
  const ports = new Map([['6379', redis.port]]);
  for (const port of PORTS.slice(1)) ports.set(port, await freePort(t));
  const here = (text: string): string => text.replaceAll(new RegExp(`\\b(${PORTS.join('|')})\\b`, 'g'), (port) => String(ports.get(port)));
  const home = tempFolder(t);
  for (const folder of ['conf', 'a/conf']) writeInto(home, `${folder}/srv_ctrl.conf`, here(readRoot('conf/srv_ctrl.conf')));
  for (const [name, file] of [
    ['srv', 'cli/srv.js'],
    ['srvctl', 'ctl/srvctl.js'],
  ] as const)
    chmodSync(writeInto(home, `bin/${name}`, `#!/bin/sh\nexec '${process.execPath}' '${join(ROOT, 'dist/core', file)}' "$@"\n`), 0o755);
  const env = {
    ...process.env,
    PATH: `${join(home, 'bin')}:${process.env['PATH']}`,
    HOME: home,
    SRVCTL_SERVER: `http://127.0.0.1:${ports.get('8081')}`,
  };
  const [, section = ''] = readRoot('docs/cluster.md').split('## Two nodes');
  const [page = ''] = section.split('\n## ');
  const all = steps(page);
  t.true(all.length > 8);
  const pids = ['a', 'b'].map((node) => join(home, node, 'logs/srv.pid'));
  t.teardown(() => {
    for (const pid of pids) if (existsSync(pid)) process.kill(Number(readFileSync(pid, 'utf8')));
  });
  for (const { command, output } of all) {
    if (command.startsWith('curl')) t.true(pids.every(existsSync));
    let actual = '';
    // The other node follows a moment later.
    const isThere = async (): Promise<boolean> => matches(here(output), (actual = await run(here(command), home, env)));
    if (/^(?:curl|srvctl --server|srvctl cluster)/.test(command)) await waitFor(`${command}\n${output}`, isThere);
    else t.true(await isThere(), `$ ${command}\n${actual}\nexpected:\n${output}`);
  }
  await waitFor('the end of the nodes', () => !pids.some(existsSync));
});
