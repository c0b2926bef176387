/** `srvctl top`: one screen for scripts, and screens that keys change. */
import test from 'ava';
import { run, type CommandEnvironment } from '../../core/ctl/main.js';
import { screenLines } from '../../core/ctl/top/screen.js';
import { sharedNode, type Node } from '../control/node.js';
import { shippedModules } from '../control/shipped-modules.js';
import { get } from '../harness/client.js';
import { waitFor } from '../harness/wait.js';

const shared = sharedNode({
  workers: 1,
  main: shippedModules('api.conf'),
  controlMain: shippedModules('api_control.conf'),
  server: 'location / { return 200 default; }',
  http: `vhost_traffic_status_zone;
    upstream half { zone half 64k; server 127.0.0.1:1 down; server 127.0.0.1:2; }
    upstream gone { zone gone 64k; server 127.0.0.1:1 down; }
    server { listen 127.0.0.1:%%PORT_web%%; server_name a.test; location / { return 200 a; } location /error { return 500; } }
    server { listen 127.0.0.1:%%PORT_web%%; server_name b.test; location / { return 200 b; } }`,
});

interface Given {
  readonly terminal?: NonNullable<CommandEnvironment['terminal']>;
  readonly onOutput?: (text: string) => void;
}

/** Runs `srvctl top` in this process. */
async function top(node: Node, argv: readonly string[], { terminal, onOutput }: Given = {}) {
  let [stdout, stderr] = ['', ''];
  const code = await run(['top', ...argv], {
    env: { HOME: '/nonexistent', SRVCTL_SERVER: `http://127.0.0.1:${node.srv.port('api')}` },
    version: '0',
    color: false,
    ...(terminal && { terminal }),
    stdout: (text) => {
      stdout += text;
      onOutput?.(text);
    },
    stderr: (text) => void (stderr += text),
  });
  return { code, stdout, stderr };
}

async function request(node: Node, host: string, path: string, times: number): Promise<void> {
  for (let n = 0; n < times; n++) await get(node.srv.port('web'), path, { headers: { host } });
}

test('top --once prints what is wrong, and the figures of upstreams and servers', async (t) => {
  const node = await shared();
  await request(node, 'a.test', '/', 5);
  await request(node, 'a.test', '/error', 5);
  await request(node, 'b.test', '/', 20);
  let stdout = '';
  await waitFor('rates of both servers', async () => {
    ({ stdout } = await top(node, ['--once']));
    // Rates of both are from different moments at first.
    const isOrdered = stdout.indexOf('\nb.test') < stdout.indexOf('\na.test');
    return /^b\.test +[\d.]*[1-9]/m.test(stdout) && isOrdered && stdout.includes('are 5xx');
  });
  t.regex(stdout, /^requests [\d.]+\/s {3}5xx [\d.]+\/s {3}received \S+\/s {3}sent \S+\/s {3}connections \d+$/m);
  t.regex(stdout, /^highest p50 \S+ {3}p90 \S+ {3}p99 \S+$/m);
  t.regex(stdout, /^x upstream gone has no usable member$/m);
  t.regex(stdout, /^! 127\.0\.0\.1:1 of half is down/m);
  t.regex(stdout, /^x \d+ % of the responses (?:are 5xx, most at server a\.test$|of a\.test are 5xx \(500 x \d+\))/m);
  t.regex(stdout, /^UPSTREAM .*\ngone +0 of 1 .*\nhalf +1 of 2 /m);
  t.true(stdout.indexOf('\nb.test') < stdout.indexOf('\na.test'), 'by requests');
  const { stdout: sorted } = await top(node, ['--once', '--sort=errors']);
  t.true(sorted.indexOf('\na.test') < sorted.indexOf('\nb.test'), 'by errors');
  t.false(stdout.includes('\x1b'));
  const { stdout: json } = await top(node, ['--json']);
  t.is((JSON.parse(json) as { http: { name: string }[] }).http.length, 2);
});

test('on a terminal top draws again until q, a key sorts, and the screen is left as it was', async (t) => {
  const node = await shared();
  await request(node, 'b.test', '/', 1);
  let press: ((keys: string) => void) | undefined;
  let screens = 0;
  let released = false;
  const { code, stdout } = await top(node, ['--interval=0.1'], {
    terminal: {
      size: () => ({ columns: 60, rows: 12 }),
      keys: (onKey) => {
        press = onKey;
        return () => void (released = true);
      },
    },
    onOutput: (text) => {
      if (!text.startsWith('\x1b[H')) return;
      const lines = text.split('\r\n');
      t.true(lines.length <= 12);
      t.true(lines.every((line) => line.replaceAll(/\x1b\[\w/g, '').length <= 60));
      screens++;
      if (screens === 3) setImmediate(() => press?.('n'));
      if (screens === 5) setImmediate(() => press?.('q'));
    },
  });
  t.is(code, 0);
  t.is(screens, 5);
  t.true(stdout.startsWith('\x1b[?1049h\x1b[?25l'));
  t.true(stdout.endsWith('\x1b[?25h\x1b[?1049l'));
  t.true(released);
});

test('top rejects values that mean nothing, and a server that is away', async (t) => {
  const node = await shared();
  t.is((await top(node, ['--sort=size'])).code, 2);
  t.is((await top(node, ['--interval=0'])).code, 2);
  t.is((await top(node, ['--once', '--server=http://127.0.0.1:1'])).code, 6);
});

test('top names slow members, failing servers with the source, full zones, and the last changes', (t) => {
  const since = Date.UTC(2026, 10, 28, 3, 0, 0);
  const at = '2026-11-28T02:59:00.000Z';
  const lines = screenLines(
    {
      statistics: {
        now: since,
        loaded: since,
        connections: {},
        slow: [{ upstream: 'shop', server: '10.0.0.1:80', since, time: 412.4, reference: 20.1, than: 'others' }],
        failing: [
          { section: 'servers', name: 'a.test', since, requests: 100, errors: 12, codes: { 502: 3, 500: 40 } },
          { section: 'upstreams', name: 'shop', part: '10.0.0.2:80', since, requests: 12, errors: 12, codes: { 500: 40 } },
        ],
        limits: { clients: { entries: 990, capacity: 1000, evicted: 7 }, other: { entries: 5, capacity: 1000 } },
      },
      http: [],
      stream: [],
      nodes: [{ name: 'b', state: 'diverged', lag: 3.2 }],
      certificates: [],
      changes: [
        { at, actor: 'deploy', message: 'more weight', changes: [] },
        { at, diff: ['http', '- keepalive_timeout 10s;'] },
        { at, actor: 'bulk', changes: null },
      ],
      missing: [],
    },
    { columns: 200, rows: 50, sort: 'name', color: false },
  );
  const from = (text: string): string | undefined => lines.find((line) => line.includes(text));
  t.is(
    from('a.test'),
    'x 12 % of the responses of a.test are 5xx (500 x 40, 502 x 3, from 10.0.0.2:80 of shop), since 2026-11-28T03:00:00.000Z',
  );
  t.is(from('is slow'), '! 10.0.0.1:80 of shop is slow: first byte after 412 ms, the others need 20 ms, since 2026-11-28T03:00:00.000Z');
  t.is(from('is full'), '! limit zone clients is full: 990 keys, 7 dropped for new ones');
  t.is(from('node b'), 'x node b is diverged: it lacks changes of the last 3 s');
  t.is(from('deploy'), `${at}  deploy  more weight`);
  t.is(from('reload'), `${at}  reload  http`);
  t.is(from('bulk'), `${at}  bulk  no directive`);
  t.true(lines.findIndex((line) => line.startsWith('x ')) < lines.findIndex((line) => line.startsWith('! ')));
});

test('a name with control characters does nothing to the terminal', (t) => {
  const peer = {
    server: '\x1b[2J\u202e',
    state: 'unhealthy',
    weight: 1,
    active: 0,
    fails: 1,
    response_time: 0,
    health_checks: { last_error: '\x07bell' },
  };
  const lines = screenLines(
    {
      statistics: undefined,
      http: [
        { name: 'a\nb', peers: [peer] },
        { name: 'x'.repeat(9000), peers: [] },
      ],
      stream: [],
      nodes: [],
      certificates: [],
      changes: [],
      missing: [],
    },
    { columns: 200, rows: 50, sort: 'name', color: false, problem: '\x9b31m' },
  );
  t.true(lines.some((line) => line.includes('bell')));
  t.true(lines.every((line) => !/[\x00-\x1f\x7f-\x9f\u202e]/.test(line)));
  t.true(
    lines.some((line) => line.includes('0 of 0')),
    'a long name leaves room for figures',
  );
});
