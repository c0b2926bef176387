import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { readProc } from '../../tools/bench/process-tree.js';
import { testRedis } from '../harness/redis.js';
import { tempFolder } from '../harness/temp.js';

const DEMO = resolve(import.meta.dirname, '../../tools/demo/cluster.js');

testRedis('redis-server: the demo of three nodes shows what it says, and leaves nothing', async (t) => {
  const folder = tempFolder(t);
  const demo = spawn(process.execPath, [DEMO], { env: { ...process.env, TMPDIR: folder }, stdio: ['ignore', 'pipe', 'pipe'] });
  t.teardown(() => demo.kill());
  let output = '';
  for (const stream of [demo.stdout, demo.stderr]) stream.on('data', (piece: Buffer) => (output += piece.toString()));
  const [code] = (await once(demo, 'close')) as [number | null];
  t.is(code, 0, output);
  for (const line of [
    /GET \/color at a: red, GET \/color at b: red, GET \/color at c: red/,
    /GET \/to\/shop at a: hello, GET \/to\/shop at b: hello, GET \/to\/shop at c: hello/,
    /above the rate at c: 429 without the cookie, with it 200/,
    /so is Redis[^]*"yellow"}: 200\n.*GET \/color at a: yellow\n.*GET \/to\/last at a: hello/,
    /Without Redis[^]*"blue"}: 503[^]*POST \/api\/v1\/dyn_ups at b .*: 503\n.*GET \/to\/shop at a: hello, GET \/to\/shop at b: hello/,
    /started again[^]*GET \/color at a: yellow, GET \/color at b: yellow, GET \/color at c: yellow/,
    /GET \/color at a: blue, GET \/color at b: blue, GET \/color at c: blue/,
    /a in_sync at version \d+, b in_sync at version \d+, c in_sync at version \d+\n\nEverything has ended/,
  ])
    t.regex(output, line);
  t.deepEqual(readdirSync(folder), []);
  const left = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && readProc(`/proc/${pid}/cmdline`)?.includes(folder) === true);
  t.deepEqual(left, []);
});
