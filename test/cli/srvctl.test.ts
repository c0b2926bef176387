/** srvctl. docs/srvctl.md shows each command, and test/docs/tasks.test.ts follows it; here is what goes wrong, and what surrounds the calls. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { parseArguments, optionsOf } from '../../core/ctl/arguments.js';
import { COMMANDS } from '../../core/ctl/commands.js';
import { wantsColor } from '../../core/ctl/diff.js';
import { OWN_COMMANDS } from '../../core/ctl/help.js';
import { run } from '../../core/ctl/main.js';
import { sharedNode, upstreams, type Node } from '../control/node.js';
import { shippedModules } from '../control/shipped-modules.js';
import { readRoot, ROOT } from '../docs/source-files.js';
import { httpBackend } from '../harness/backends.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';

const TOKEN = 'secret';
/** Its API has a socket as well, and an address where it wants a token. */
const shared = sharedNode({
  workers: 1,
  http: upstreams('demo', 'paged', 'kept'),
  main: shippedModules('api.conf'),
  controlMain: shippedModules('api_control.conf'),
  control: `
    server { listen unix:%%PREFIX%%/api.sock; location /other { dyn_module_api; } }
    server { listen 127.0.0.1:%%PORT_closed%%; location /api {
      if ($http_authorization != "Bearer ${TOKEN}") { return 401; }
      dyn_module_api;
    } }`,
});

interface Result {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface Given {
  readonly env?: Readonly<Record<string, string>>;
  readonly color?: boolean;
  readonly onOutput?: (text: string) => void;
}

/** Runs srvctl in this process, with an environment of its own. */
async function srvctl(argv: readonly string[], { env = {}, color = false, onOutput }: Given = {}): Promise<Result> {
  let [stdout, stderr] = ['', ''];
  const surroundings = {
    env: { HOME: '/nonexistent', ...env },
    version: '0',
    color,
    stdout: (text: string) => {
      stdout += text;
      onOutput?.(text);
    },
    stderr: (text: string) => void (stderr += text),
  };
  const code = await run(argv, surroundings);
  return { code, stdout, stderr };
}

const url = (node: Node, port = 'api'): string => `http://127.0.0.1:${node.srv.port(port)}`;

/** A command for the shared node. */
async function on(...argv: readonly string[]): Promise<Result> {
  return srvctl(argv, { env: { SRVCTL_SERVER: url(await shared()) } });
}

test.before('the node is up', async () => {
  await shared();
});

test('an error is reported with its details and the request id, and each kind has an exit code', async (t) => {
  const weight = await on('members', 'add', 'demo', '127.0.0.1:99999', '--weight', '0');
  t.is(weight.code, 1);
  t.is(weight.stdout, '');
  t.regex(
    weight.stderr,
    /^srvctl: \/weight: must be .* \(and 1 more\) \(InvalidField, 400\)\n {2}\/weight: must be .*\n {2}\/server: invalid address .*\nrequest id: \w+\n$/,
  );
  const missing = await on('members', 'get', 'demo', '77');
  t.is(missing.code, 3);
  t.regex(missing.stderr, /^srvctl: .*\(UpstreamServerNotFound, 404\)\nrequest id: \w+\n$/, 'a detail that says the same is left out');
  t.is((await on('members', 'add', 'demo', '127.0.0.1:1')).code, 4);
  t.is((await on('members', 'set', 'demo', '0', '--weight', '2', '--if-match', 'old')).code, 4);
  t.regex((await on('members', 'list', '--server', 'http://127.0.0.1:1', 'demo')).stderr, /cannot reach the API at .*ECONNREFUSED/);
  t.is((await on('members', 'list', '--server', 'http://127.0.0.1:1', 'demo')).code, 6);
});

test('--force is sent with every command that has it', async (t) => {
  const port = (await shared()).srv.port('web');
  for (const [line, code] of [
    ['upstreams set kept "zone kept 256k; least_conn"', 'UpstreamStatic'],
    ['upstreams remove paged', 'UpstreamStatic'],
    [`locations set 127.0.0.1:${port} / --body "return 204"`, 'LocationStatic'],
    [`locations remove 127.0.0.1:${port} /`, 'LocationStatic'],
    [`servers set 127.0.0.1:${port} "return 204"`, 'ServerStatic'],
    [`servers remove 127.0.0.1:${port}`, 'ServerStatic'],
  ] as const) {
    const words = Array.from(line.matchAll(/"([^"]*)"|(\S+)/g), ([, quoted, word]) => quoted ?? word ?? '');
    t.regex((await on(...words, '--dry-run')).stderr, new RegExp(code), line);
    const forced = await on(...words, '--dry-run', '--force');
    t.is(forced.code, 0, `${line}: ${forced.stderr}`);
  }
});

test('a transaction that fails names each call', async (t) => {
  const file = join(
    tempFolder(t, {
      'calls.json': JSON.stringify([{ method: 'PATCH', path: '/v1/upstream_api/http/upstreams/none/servers/0', body: { weight: 2 } }]),
    }),
    'calls.json',
  );
  const { code, stderr } = await on('apply', file);
  t.is(code, 3);
  t.regex(
    stderr,
    /\n {2}call 0, PATCH \/v1\/upstream_api\/http\/upstreams\/none\/servers\/0: upstream "none" not found \(UpstreamNotFound\)\n/,
  );
});

test('a command line that is wrong sends nothing, ends with 2 and says what would be right', async (t) => {
  for (const [line, message] of [
    ['', /a command is missing\n"srvctl help"/],
    ['nope', /unknown command "nope"/],
    ['members', /"members" needs a command\ncommands of members: list, get, add/],
    ['members lst', /unknown command "members lst"\ncommands of members:/],
    ['members list', /UPSTREAM is missing\n"srvctl help members list"/],
    ['members list a b', /unexpected argument "b"/],
    ['members list a --weight 3', /unknown option "--weight"/],
    ['members list a --dry-run', /unknown option "--dry-run"/],
    ['members add a b --weight', /option "--weight" requires a value/],
    ['members add a b --weight 1 --weight 2', /option "--weight" is given twice/],
    ['members add a b --down=maybe', /option "--down" is true or false, not "maybe"/],
    ['members list a --server ftp://b', /invalid server "ftp:\/\/b"\nit must be http/],
    ['members list a --timeout soon', /--timeout must be a number of seconds/],
    ['members replace a /none/such', /cannot read "\/none\/such": ENOENT/],
    ['members list a --token-file /none/such', /cannot read "\/none\/such": ENOENT/],
    ['events --count many', /--count must be a number/],
    ['completion tcsh', /no completion for "tcsh"/],
    ['help nope', /unknown command "nope"/],
  ] as const) {
    const { code, stdout, stderr } = await on(...line.split(' ').filter((word) => word !== ''));
    t.is(code, 2, line);
    t.is(stdout, '', line);
    t.regex(stderr, message, line);
  }
});

test('server and token come from options, the environment or a file', async (t) => {
  const node = await shared();
  const [open, closed] = [url(node), url(node, 'closed')];
  const folder = tempFolder(t, {
    token: `${TOKEN}\n`,
    wrong: 'wrong',
    two: 'two words',
  });
  const list = ['members', 'list', 'demo'];
  const codes = async (env: Record<string, string>, ...more: string[]) => (await srvctl([...list, ...more], { env })).code;
  t.is(await codes({ SRVCTL_SERVER: open }), 0);
  t.is(await codes({ SRVCTL_SERVER: `${open}/api/` }), 0);
  t.is(await codes({ SRVCTL_SERVER: `unix:${node.srv.path('api.sock')}:/other` }), 0);
  t.is(await codes({ SRVCTL_SERVER: 'http://127.0.0.1:1' }, '-s', open), 0);
  t.is(await codes({ SRVCTL_SERVER: closed }), 5);
  t.is(await codes({ SRVCTL_SERVER: closed, SRVCTL_TOKEN: TOKEN }), 0);
  t.is(await codes({ SRVCTL_SERVER: closed, SRVCTL_TOKEN_FILE: join(folder, 'token') }), 0);
  t.is(await codes({ SRVCTL_SERVER: closed, SRVCTL_TOKEN: TOKEN }, '--token-file', join(folder, 'wrong')), 5);
  t.is(await codes({ SRVCTL_SERVER: closed, SRVCTL_TOKEN_FILE: join(folder, 'two') }), 2);
  const own = tempFolder(t, { 'srvctl/config': `# mine\nserver ${closed}\ntoken-file ${join(folder, 'token')}\n` });
  t.is(await codes({ XDG_CONFIG_HOME: own }), 0);
  t.is(await codes({ XDG_CONFIG_HOME: own, SRVCTL_TOKEN: 'wrong' }), 5);
  const broken = await srvctl(list, { env: { XDG_CONFIG_HOME: tempFolder(t, { 'srvctl/config': 'server\n' }) } });
  t.regex(broken.stderr, /invalid line in .*srvctl\/config:1/);
});

test('a call during an upgrade is repeated, and no other error', async (t) => {
  const texts = ['the data plane is being upgraded; nothing was changed: repeat the call', 'the data plane is not connected'];
  const api = await httpBackend(t, (_, response) => {
    const text = texts.shift();
    response.writeHead(503, { 'Content-Type': 'application/json', 'Retry-After': '0.01' });
    response.end(JSON.stringify({ error: { status: 503, code: 'DataPlaneUnavailable', text } }));
  });
  const { code, stderr } = await srvctl(['kv', 'set', 'a', 'b'], { env: { SRVCTL_SERVER: `http://127.0.0.1:${api.port}` } });
  t.is(code, 6);
  t.regex(stderr, /the data plane is not connected/);
  t.is(api.requests.length, 2);
});

test('the pages of a list are one list', async (t) => {
  const node = await shared();
  for (let n = 0; n < 101; n++) await node.call('POST', '/kv', { key: `page/${n}`, value: String(n) });
  t.is((JSON.parse((await on('kv', 'list', 'page/', '--json')).stdout) as unknown[]).length, 101);
  t.is((await on('kv', 'list', 'page/', '--limit', '5')).stdout.trimEnd().split('\n').length, 6);
});

test('control characters of a value do not reach the terminal in a table', async (t) => {
  const node = await shared();
  await node.call('POST', '/kv', { key: 'bell', value: 'a\u001b[31m\u0007b\nc' });
  t.regex((await on('kv', 'list', 'bell')).stdout, /\nbell {2}a\\u001b\[31m\\u0007b\\nc\n$/);
  t.is((await on('kv', 'get', 'bell')).stdout, 'a\u001b[31m\u0007b\nc\n', 'alone it is exact');
});

test('a difference is coloured on a terminal, and plain without', async (t) => {
  const argv = ['members', 'add', 'demo', '10.0.0.1:80', '-n'];
  const env = { SRVCTL_SERVER: url(await shared()) };
  t.is((await srvctl(argv, { env })).stdout, 'http / upstream demo\n+ server 10.0.0.1:80;\n');
  t.is(
    (await srvctl(argv, { env, color: true })).stdout,
    '\u001b[1mhttp / upstream demo\u001b[0m\n\u001b[32m+ server 10.0.0.1:80;\u001b[0m\n',
  );
  t.deepEqual(JSON.parse((await srvctl([...argv, '--json'], { env, color: true })).stdout), {
    dry_run: true,
    diff: ['http / upstream demo', '+ server 10.0.0.1:80;'],
  });
  t.true(wantsColor(true, {}));
  t.false(wantsColor(false, {}));
  t.false(wantsColor(true, { NO_COLOR: '1' }));
  t.false(wantsColor(true, { TERM: 'dumb' }));
});

test.serial('the history shows why a change was made, and what a reload brought', async (t) => {
  const node = await shared();
  t.is((await on('members', 'add', 'paged', '10.0.0.1:80', '-m', 'größer 😀')).code, 0);
  t.regex((await on('history', '--limit', '1')).stdout, /^version \d+ .*\n {4}größer 😀\n {4}http \/ upstream paged/);
  t.is((await on('members', 'remove', 'paged', '10.0.0.1:80', '--message', 'a\nb')).code, 2);
  t.is((await on('members', 'remove', 'paged', '10.0.0.1:80')).code, 0);
  const conf = node.srv.read('conf/srv.conf');
  writeFileSync(node.srv.path('conf/srv.conf'), conf.replace('worker_processes 1', 'worker_shutdown_timeout 9s; worker_processes 1'));
  node.srv.signal('SIGHUP');
  await waitFor('the reload in the history', async () =>
    /^version \d+ +\S+ +reload\n {4}.*\n {4}\+ worker_shutdown_timeout 9s;/m.test((await on('history', '--limit', '1')).stdout),
  );
});

test.serial('what is saved is no drift any more, and a version holds until there is a change', async (t) => {
  const etag = (await on('members', 'list', 'kept', '--etag')).stdout.trim();
  t.regex(etag, /^".+"$/);
  t.is((await on('members', 'add', 'kept', '10.0.0.1:80', '--if-match', etag)).code, 0);
  t.is((await on('members', 'add', 'kept', '10.0.0.2:80', '--if-match', etag)).code, 4);
  t.is((await on('drift')).code, 0);
  t.is((await on('drift', '--exit-code')).code, 7);
  t.regex((await on('save')).stdout, /^FILE +BACKUP\nconf\/srv\.conf +\S+\n$/);
  t.is((await on('drift', '--exit-code')).code, 0);
  t.is((await on('save')).stdout, 'nothing to save\n');
});

test.serial('events go on where they were when the control plane was away', async (t) => {
  const node = await shared();
  const pid = node.helper('ctrl');
  const seen: string[] = [];
  const following = srvctl(['events', '--types', 'config.changed', '--count', '2', '--json'], {
    env: { SRVCTL_SERVER: url(node) },
    onOutput: (text) => seen.push(text),
  });
  const change = (weight: number) => node.upstreams('PATCH', '/demo/servers/0', { weight });
  // It may not be connected when the first change is made.
  for (let weight = 10; seen.length === 0 && weight < 20; weight++) {
    await change(weight);
    await waitFor('the event', () => seen.length > 0, 2000).catch(() => undefined);
  }
  process.kill(pid, 'SIGKILL');
  await waitFor('another control plane', () => node.helper('ctrl') !== pid);
  await node.ready();
  await change(99);
  const { code, stdout } = await following;
  t.is(code, 0);
  t.regex(stdout, /^\{.*"config\.changed".*\}\n\{.*"config\.changed".*weight=99.*\}\n$/);
});

test('the program reads the standard input, and is coloured by its terminal alone', async (t) => {
  const node = await shared();
  const env = { ...process.env, SRVCTL_SERVER: url(node), HOME: node.srv.prefix };
  const program = join(ROOT, 'dist/core/ctl/srvctl.js');
  const [code, stdout] = await new Promise<[number, string]>((resolve) => {
    const child = execFile(process.execPath, [program, 'kv', 'set', 'in', '@-'], { env }, (error, out) =>
      resolve([Number(error?.code ?? 0), out]),
    );
    child.stdin?.end('from the input');
  });
  t.deepEqual([code, stdout], [0, '']);
  t.is((await on('kv', 'get', 'in')).stdout, 'from the input\n');
  const failed = await new Promise<string>((resolve) =>
    execFile(process.execPath, [program, 'kv', 'get', 'none'], { env }, (error) => resolve(String(error?.code))),
  );
  t.is(failed, '3');
});

test('help and documentation have every command, and every option means one thing', async (t) => {
  const page = readRoot('docs/srvctl.md');
  const help = (await srvctl(['help'])).stdout;
  for (const { words, about } of COMMANDS) {
    t.true(
      page.includes(`$ srvctl ${words}`) || page.includes(`| srvctl ${words}`) || page.includes(`(srvctl ${words}`),
      `docs/srvctl.md lacks ${words}`,
    );
    t.true(help.includes(`  ${words}`) && help.includes(about));
    t.regex((await srvctl(['help', ...words.split(' ')])).stdout, new RegExp(`^Usage: srvctl ${words}`));
    t.is((await srvctl([...words.split(' '), '--help'])).code, 0);
  }
  for (const { words } of OWN_COMMANDS) t.true(help.includes(`  ${words}`));
  const kinds = new Map<string, boolean>();
  for (const { name, value } of COMMANDS.flatMap(optionsOf)) {
    t.is(kinds.get(name) ?? value !== undefined, value !== undefined, `--${name} has a value here and none there`);
    kinds.set(name, value !== undefined);
  }
  for (const command of COMMANDS) {
    const letters = optionsOf(command).flatMap(({ letter }) => letter ?? []);
    t.is(new Set(letters).size, letters.length, command.words);
  }
  t.is(parseArguments(['kv', 'set', 'a', '--', '--server'], COMMANDS).words.at(-1), '--server');
  t.regex((await srvctl(['--version'])).stdout, /^srvctl \S+\n$/);
});

/** Words that a shell offers for a line, after the script of its completion. */
function completed(shell: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) =>
    execFile(shell, args, (error, stdout, stderr) => (error || stderr !== '' ? reject(new Error(stderr)) : resolve(stdout.trim()))),
  );
}

test('bash completes commands, options and values', async (t) => {
  const { stdout: script } = await srvctl(['completion', 'bash']);
  const offered = (line: string): Promise<string> => {
    const words = line
      .split(' ')
      .map((word) => `'${word}'`)
      .join(' ');
    return completed('bash', [
      '-c',
      `${script}\nCOMP_WORDS=(${words}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _srvctl; echo "\${COMPREPLY[*]}"`,
    ]);
  };
  t.is(await offered('srvctl mem'), 'members');
  t.is(await offered('srvctl members re'), 'remove replace');
  t.is(await offered('srvctl members add demo 10.0.0.1 --max-'), '--max-conns --max-fails');
  t.is(await offered('srvctl members list demo --dry'), '');
  t.is(await offered('srvctl members add demo 10.0.0.1 --dry'), '--dry-run');
  t.is(await offered('srvctl drift --ex'), '--exit-code');
  t.is(await offered('srvctl completion f'), 'fish');
  t.is(await offered('srvctl apply /etc/hostn'), '/etc/hostname');
});

test('the scripts for zsh and fish have every command and option', async (t) => {
  const zsh = (await srvctl(['completion', 'zsh'])).stdout;
  t.regex(zsh, /^#compdef srvctl\nautoload [^]*bashcompinit\n[^]*complete -o filenames -F _srvctl srvctl\n$/);
  const fish = (await srvctl(['completion', 'fish'])).stdout;
  for (const command of COMMANDS) {
    const seen = command.words.split(' ').map((word) => `__fish_seen_subcommand_from ${word}`);
    for (const { name } of optionsOf(command)) {
      t.true(
        fish.split('\n').some((line) => line.includes(`'${seen.join('; and ')}'`) && line.includes(` -l ${name} `)),
        `${command.words} --${name}`,
      );
    }
    t.true(zsh.includes(`"${command.words}") options=`), command.words);
  }
});
