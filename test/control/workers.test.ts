import { chmodSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { makeToken } from '../../core/api/access/token-file.js';
import { run } from '../../core/ctl/main.js';
import { usesEpoll } from '../harness/event-methods.js';
import { get, json } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { shared as sharedBy } from '../harness/scope.js';
import { tempFolder, writeInto } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import { line } from './access-node.js';
import { errorOf } from './api-client.js';
import { startNode } from './node.js';

/** Keeps its worker busy for some milliseconds, in a function that a profile shows. */
const BUSY = plugin('busy', {
  manifest: `directives: { busy: directive({ in: ['location'] }) }`,
  body: `compile({ conf }) {
    return conf.busy && { content: (request) => {
      const end = performance.now() + Number(request.args);
      (function burnTheProcessor() { while (performance.now() < end); })();
      return request.send(200, 'done');
    } };
  }`,
});

const tokens = { profiler: makeToken(), writer: makeToken(), other: makeToken() };
const shared = sharedBy((scope) => {
  const prefix = tempFolder(scope);
  const lines = [
    line('profiler', tokens.profiler, 'profile'),
    line('writer', tokens.writer, 'write'),
    line('other', tokens.other, 'profile module:kv'),
  ];
  chmodSync(writeInto(prefix, 'conf/api_tokens', `${lines.join('\n')}\n`), 0o600);
  return startNode(scope, {
    prefix,
    workers: 1,
    main: 'load_module modules/srv_workers_module.so; load_module modules/busy.js;',
    server: 'location / { return 200 x; } location /busy { busy; }',
    controlMain: 'load_module modules/srv_workers_api_module.so;',
    control: 'server { listen 127.0.0.1:%%PORT_tokens%%; api_tokens api_tokens; location /api { dyn_module_api; } }',
    files: { 'modules/busy.js': BUSY },
  });
});

const USED_METHOD = usesEpoll ? 'epoll' : 'node';

interface Thread {
  readonly loop_delay: Readonly<Record<'mean' | 'p50' | 'p99' | 'max', number>>;
  readonly utilization: number;
  readonly gc: Readonly<Record<'count' | 'time' | 'max', number>>;
  readonly memory: Readonly<Record<string, number>>;
}
interface View {
  readonly process: { readonly pid: number; readonly rss: number; readonly descriptors: { readonly open: number; readonly limit: number } };
  readonly main: Thread;
  readonly workers: readonly (Thread & {
    readonly worker: number;
    readonly responding: boolean;
    readonly requests: number;
    readonly events: { readonly io_uring: boolean };
  })[];
}

test.serial('the state of the process, its main thread and its workers', async (t) => {
  const node = await shared();
  await get(node.srv.port('web'), '/');
  const view = await waitFor('a busy worker', async () => {
    await get(node.srv.port('web'), '/busy?100');
    const { status, json: body } = await node.call('GET', '/workers');
    t.is(status, 200);
    const found = body as View;
    return (found.workers[0]?.loop_delay.max ?? 0) > 70 && found;
  });
  const [worker] = view.workers;
  t.like(worker, { worker: 0, responding: true });
  t.true(worker!.requests >= 2);
  t.like(worker!.events, { method: USED_METHOD, stale: 0 });
  t.is(typeof worker!.events.io_uring, 'boolean');
  t.true(worker!.loop_delay.p50 < worker!.loop_delay.max);
  t.true(worker!.utilization > 0 && worker!.utilization <= 1);
  for (const { memory, gc } of [worker!, view.main]) {
    t.true(memory['heap_used']! > 1e6 && memory['heap_used']! < memory['heap_limit']!);
    t.true(gc.count >= 0 && gc.time >= gc.max);
  }
  t.true(view.process.rss > 1e7);
  t.true(view.process.descriptors.open > 5 && view.process.descriptors.open < view.process.descriptors.limit);
});

test.serial('a worker that hangs is shown, and does not hold up the others', async (t) => {
  const node = await shared();
  const busy = get(node.srv.port('web'), '/busy?1500');
  await waitFor('a worker that does not respond', async () => {
    const { json: body } = await node.call('GET', '/workers');
    const [worker] = (body as View).workers;
    return worker?.responding === false && worker.memory === undefined;
  });
  await busy;
  t.pass();
});

test.serial('a CPU profile names the functions that were busy; the file is its owner’s', async (t) => {
  const node = await shared();
  const file = join(tempFolder(t), 'busy.cpuprofile');
  const printed: string[] = [];
  const srvctl = (argv: readonly string[]): Promise<number> =>
    run([...argv, '--server', `http://127.0.0.1:${node.srv.port('api')}/api`], {
      env: {},
      version: '0',
      color: false,
      stdout: (text) => printed.push(text),
      stderr: (text) => printed.push(text),
    });
  const profiled = srvctl(['profile', file, '--seconds', '1']);
  const second = waitFor('a second profile that is rejected', async () => {
    await get(node.srv.port('web'), '/busy?50');
    const answer = await node.call('POST', '/workers/0/profile?seconds=1');
    return answer.status === 409 && errorOf(answer).code === 'ProfileRunning';
  });
  for (let n = 0; n < 5; n++) await get(node.srv.port('web'), '/busy?50');
  await second;
  t.is(await profiled, 0, printed.join(''));
  t.regex(printed.join(''), /busy\.cpuprofile {2}\d+ bytes\n$/);
  t.is(statSync(file).mode & 0o777, 0o600);
  const { nodes, samples } = JSON.parse(readFileSync(file, 'utf8')) as {
    nodes: { callFrame: { functionName: string } }[];
    samples: number[];
  };
  t.true(nodes.some(({ callFrame }) => callFrame.functionName === 'burnTheProcessor'));
  t.true(samples.length > 50);
  t.is(await srvctl(['profile', file, '--seconds', '1']), 2);
  t.is(await srvctl(['workers']), 0);
  t.regex(printed.join(''), /THREAD +EVENTS +ACTIVE +REQUESTS.*\nmain .*\n0 +(?:epoll|node) .*ok\n$/);
  const missing = await node.call('POST', '/workers/7/profile?seconds=1');
  t.deepEqual([missing.status, errorOf(missing).code], [404, 'WorkerNotFound']);
  t.true(existsSync(file));
});

test.serial('a heap snapshot is stored after a confirmation, while another worker serves', async (t) => {
  const node = await shared();
  const file = join(tempFolder(t), 'heap.heapsnapshot');
  const printed: string[] = [];
  const keys: ((keys: string) => void)[] = [];
  const srvctl = (argv: readonly string[], hasTerminal: boolean): Promise<number> =>
    run([...argv, '--server', `http://127.0.0.1:${node.srv.port('api')}/api`], {
      env: {},
      version: '0',
      color: false,
      ...(hasTerminal && { terminal: { size: () => ({ columns: 80, rows: 25 }), keys: (onKey) => (keys.push(onKey), () => undefined) } }),
      stdout: (text) => printed.push(text),
      stderr: (text) => printed.push(text),
    });
  t.is(await srvctl(['heap', file], false), 2);
  t.regex(printed.join(''), /needs a confirmation: add --yes\n.*keys, tokens, requests/);
  const answered = async (key: string): Promise<number> => {
    const ended = srvctl(['heap', file], true);
    await waitFor('the question', () => keys.length > 0);
    keys.pop()?.(key);
    return ended;
  };
  t.is(await answered('n'), 2);
  t.false(existsSync(file));
  t.is(await answered('y'), 0, printed.join(''));
  t.is(statSync(file).mode & 0o777, 0o600);
  const { snapshot, strings } = JSON.parse(readFileSync(file, 'utf8')) as { snapshot: { node_count: number }; strings: string[] };
  t.true(snapshot.node_count > 1000);
  t.true(strings.includes('burnTheProcessor'), 'it is the heap of the worker');
  t.is(await srvctl(['heap', file, '--yes'], false), 2, 'the file exists');
  t.is(await srvctl(['heap', `${file}.2`, '--yes', '--worker', '7'], false), 3, printed.join(''));
  t.false(existsSync(`${file}.2`));
  t.deepEqual(
    readdirSync(tmpdir()).filter((name) => name.startsWith('srv-heap-')),
    [],
    'nothing is left on the server',
  );
});

const needed = (scope: string, granted: string): string => `403 ${JSON.stringify([{ needed: scope, granted }])}`;

test.serial('a profile needs a scope of its own', async (t) => {
  const node = await shared();
  const call = async (method: string, path: string, token: string): Promise<string> => {
    const answer = await json(node.srv.port('tokens'), method, `/api/v1${path}`, undefined, { authorization: `Bearer ${token}` });
    return answer.status === 200 ? '200' : `${answer.status} ${JSON.stringify(errorOf(answer).details)}`;
  };
  const profile = ['POST', '/workers/0/profile?seconds=1'] as const;
  t.is(await call(...profile, tokens.writer), needed('profile module:workers', 'write'));
  t.is(await call(...profile, tokens.other), needed('profile module:workers', 'profile module:kv'));
  t.is(await call(...profile, tokens.profiler), '200');
  t.is(await call('POST', '/workers/0/heap', tokens.writer), needed('profile module:workers', 'write'));
  t.is(await call('GET', '/workers', tokens.profiler), needed('read module:workers', 'profile'));
  t.is(await call('GET', '/workers', tokens.writer), '200');
  t.is(await call('GET', '/openapi.json', tokens.profiler), '200');
});
