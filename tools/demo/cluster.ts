/**
 * Three nodes over one Redis, on free ports of the loopback interface: what is set on one is set on all, and requests go on without a
 * node and without Redis. Prints every step, ends all processes and removes its files.
 *
 * `npm run demo:cluster`
 */
import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../bench/ports.js';
import { Processes, type Started } from '../bench/processes.js';
import { DemoNode } from './node.js';
import { until } from './until.js';

const SOLUTION = '/.srv/captcha/solution';

interface Work {
  readonly salt: string;
  readonly puzzles: number;
  readonly difficulty: number;
}

interface View {
  readonly version: number;
  readonly nodes: readonly { readonly name: string; readonly version: number; readonly state: string }[];
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** The same text from all of the nodes. */
async function shows(nodes: readonly DemoNode[], path: string, text: string): Promise<void> {
  const took = await until(`${path} is "${text}"`, async () => {
    const bodies = await Promise.all(nodes.map(async (node) => (await node.get(path)).body));
    return bodies.every((body) => body === text);
  });
  print(`  after ${took} ms: ${nodes.map(({ name }) => `GET ${path} at ${name}: ${text}`).join(', ')}`);
}

/** A call that has to have this status. */
async function call(node: DemoNode, method: string, path: string, body: object, status: number): Promise<string> {
  const reply = await node.call(method, path, body);
  print(`  ${method} /api/v1${path} at ${node.name} ${JSON.stringify(body)}: ${reply.status}`);
  if (reply.status !== status) throw new Error(`expected ${status}: ${reply.body}`);
  return reply.body;
}

async function key([a, b, c]: Nodes): Promise<void> {
  print('\nA key that node a sets is on all nodes');
  await call(a, 'PUT', '/kv/keys/color', { value: 'red' }, 200);
  await shows([a, b, c], '/color', 'red');
}

async function upstream([a, b, c]: Nodes, backend: number): Promise<void> {
  print('\nAn upstream that is added at node b is on all nodes');
  const body = { upstream_name: 'shop', upstream_body: `zone shop 64k; server 127.0.0.1:${backend};` };
  await call(b, 'POST', '/dyn_ups', body, 200);
  await shows([a, b, c], '/to/shop', 'hello');
}

/** Numbers with the hashes that a challenge asks for, as the page of a challenge looks for them. */
function solve({ salt, puzzles, difficulty }: Work): string {
  const numbers = Array.from({ length: puzzles }, (_, puzzle) => {
    for (let number = 0; ; number++) {
      const digest = createHash('sha256').update(`${salt}:${puzzle}:${number}`).digest();
      if (digest.readUInt32BE(0) < 2 ** 32 / difficulty) return number;
    }
  });
  return numbers.join('.');
}

/** Sends requests until one is above the rate. @returns the body of that response */
async function challenge(node: DemoNode): Promise<string> {
  let body = '';
  await until('a challenge', async () => {
    const reply = await node.get('/guarded');
    body = reply.body;
    return reply.status === 429;
  });
  return body;
}

async function captcha([a, b, c]: Nodes): Promise<void> {
  print('\nA CAPTCHA that is solved at node a counts at all nodes');
  const { token, work } = (JSON.parse(await challenge(a)) as { challenge: { token: string; work: Work } }).challenge;
  print('  more than 5 requests in a second at a: 429, with a challenge');
  const fields = { token, work: solve(work) };
  const solved = await a.post(SOLUTION, fields);
  print(`  the solution at a: ${solved.status}, with a cookie`);
  const cookie = String(solved.headers['set-cookie']).split(';', 1)[0] ?? '';
  for (const node of [b, c]) {
    await challenge(node);
    const { status, body } = await node.get('/guarded', { cookie });
    print(`  above the rate at ${node.name}: 429 without the cookie, with it ${status} ${body}`);
    if (status !== 200) throw new Error(`expected 200: ${body}`);
    await until('a used solution is rejected', async () => (await node.post(SOLUTION, fields)).status === 403);
    print(`  the same solution once more at ${node.name}: 403`);
  }
}

async function nodeGone([a, b, c]: Nodes): Promise<void> {
  print('\nNode c is killed. The others go on, and can be changed');
  await c.stop('SIGKILL');
  await call(a, 'PUT', '/kv/keys/color', { value: 'green' }, 200);
  await shows([a, b], '/color', 'green');
  await shows([a, b], '/to/shop', 'hello');
}

/** `kill -9` of a node and of Redis as soon as the API has responded: no other copy helps the node. */
async function writtenAndKilled([a]: Nodes, killRedis: () => Promise<unknown>, backend: number): Promise<void> {
  print('\nNode a is killed as soon as it has acknowledged two changes, and so is Redis. It starts alone, with both');
  await call(a, 'POST', '/dyn_ups', { upstream_name: 'last', upstream_body: `zone last 64k; server 127.0.0.1:${backend};` }, 200);
  await call(a, 'PUT', '/kv/keys/color', { value: 'yellow' }, 200);
  await Promise.all([a.stop('SIGKILL'), killRedis()]);
  await a.start();
  await shows([a], '/color', 'yellow');
  await shows([a], '/to/last', 'hello');
}

async function redisGone([a, b]: Nodes): Promise<void> {
  print('\nWithout Redis requests go on; changes are rejected');
  for (const node of [a, b]) {
    await call(node, 'PUT', '/kv/keys/color', { value: 'blue' }, 503);
    await call(node, 'POST', '/dyn_ups', { upstream_name: 'other', upstream_body: 'zone other 64k; server 127.0.0.1:1;' }, 503);
  }
  await shows([a, b], '/to/shop', 'hello');
}

async function redisBack([a, b, c]: Nodes): Promise<void> {
  print('\nRedis and node c are started again. Node c has what it has missed, and changes are possible');
  await c.start();
  await shows([a, b, c], '/color', 'yellow');
  await shows([a, b, c], '/to/last', 'hello');
  await until('a change', async () => (await c.call('PUT', '/kv/keys/color', { value: 'blue' })).status === 200);
  print('  PUT /api/v1/kv/keys/color at c {"value":"blue"}: 200');
  await shows([a, b, c], '/color', 'blue');
  let view: View = { version: 0, nodes: [] };
  await until('all nodes in sync', async () => {
    view = JSON.parse((await a.call('GET', '/cluster')).body) as View;
    return view.nodes.length === 3 && view.nodes.every(({ state }) => state === 'in_sync');
  });
  const states = view.nodes.map(({ name, version, state }) => `${name} ${state} at version ${version}`);
  print(`  GET /api/v1/cluster at a: ${states.join(', ')}`);
}

type Nodes = readonly [DemoNode, DemoNode, DemoNode];

async function startRedis(processes: Processes, port: number, folder: string): Promise<Started> {
  const started = processes.start(
    `redis-server --port ${port} --bind 127.0.0.1 --dir ${folder} --save`
      .split(' ')
      .concat('', '--appendonly', 'yes', '--appendfsync', 'always'),
  );
  await until('redis-server', () => pong(port));
  return started;
}

function pong(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
    socket.once('data', (data) => {
      resolve(data.toString().startsWith('+PONG'));
      socket.destroy();
    });
  });
}

async function demo(processes: Processes, folder: string): Promise<void> {
  const backend = createServer((_, response) => response.end('hello')).listen(0, '127.0.0.1');
  await once(backend, 'listening');
  const { port: backendPort } = backend.address() as AddressInfo;
  const [redisPort = 0, ...ports] = await freePorts(7);
  const common = { processes, folder, redisPort, backendPort, captchaSecret: randomBytes(32).toString('hex') };
  const node = (name: string, at: number) => new DemoNode(name, ports[at] ?? 0, ports[at + 1] ?? 0, common);
  const nodes = [node('a', 0), node('b', 2), node('c', 4)] as const;
  const redis = await startRedis(processes, redisPort, folder);
  print(`redis-server: 127.0.0.1:${redisPort}`);
  await Promise.all(nodes.map((one) => one.start()));
  for (const { text } of nodes) print(text);

  await key(nodes);
  await upstream(nodes, backendPort);
  await captcha(nodes);
  await nodeGone(nodes);
  await writtenAndKilled(nodes, () => processes.stop(redis, 'SIGKILL'), backendPort);
  await redisGone(nodes);
  const again = await startRedis(processes, redisPort, folder);
  await redisBack(nodes);

  await Promise.all(nodes.map((one) => one.stop()));
  await processes.stop(again);
  backend.close();
}

async function main(): Promise<void> {
  if (spawnSync('redis-server', ['--version']).status !== 0) {
    process.stderr.write('redis-server is not installed. Debian and Ubuntu have it in the package redis-server.\n');
    process.exitCode = 1;
    return;
  }
  const processes = new Processes(undefined);
  const folder = mkdtempSync(join(tmpdir(), 'srv-demo-'));
  process.once('exit', () => {
    processes.killAll();
    rmSync(folder, { recursive: true, force: true });
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));
  try {
    await demo(processes, folder);
    print('\nEverything has ended, and its files are removed.');
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exit(1);
  }
}

await main();
