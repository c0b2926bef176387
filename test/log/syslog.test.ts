import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import test from 'ava';
import type { Socket } from 'node:net';
import { rawBackend } from '../harness/backends.js';
import { check } from '../harness/check.js';
import { exchange, get } from '../harness/client.js';
import { datagramBackend } from '../harness/datagrams.js';
import { guard } from '../harness/guard.js';
import { testWith } from '../harness/programs.js';
import type { Scope } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';

/** Time and name of the machine. */
const HEAD = String.raw`\w{3} [ \d]\d \d\d:\d\d:\d\d \S+`;

test('error logs and access logs by UDP', async (t) => {
  const syslog = await datagramBackend(t, () => undefined);
  const to = (more: string): string => `syslog:server=127.0.0.1:${syslog.port}${more}`;
  const srv = await startSrv(
    t,
    `error_log logs/error.log info; error_log ${to(',facility=local3,tag=web')} warn;
    events {}
    http {
      log_format short "$request_uri $arg_a";
      access_log ${to(',severity=debug,nohostname,tag=http')} short;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { return 200; }
        location /structured { access_log ${to(',tag=web,rfc5424,nohostname')} short; return 200; }
        location /off { access_log off; return 200; }
        location /named { access_log syslog:server=localhost:${syslog.port},tag=named short; return 200; }
        location /denied { error_log ${to(',tag=denied')}; deny all; access_log off; }
      }
    }
    stream {
      log_format short "$bytes_sent";
      access_log ${to(',tag=stream')} short;
      server { listen 127.0.0.1:%%PORT_stream%%; return hello; }
    }`,
  );
  const got = (pattern: string): Promise<unknown> =>
    waitFor(pattern, () => syslog.received.some(({ text }) => new RegExp(`^${pattern}$`, 's').test(text)));
  const port = srv.port('web');
  await get(port, '/first?a=%C3%A9');
  await got(String.raw`<191>\w{3} [ \d]\d \d\d:\d\d:\d\d http: /first\?a=%C3%A9 %C3%A9`);
  await get(port, '/structured');
  await got(String.raw`<190>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z - web \d+ - - /structured -`);
  await get(port, '/off');
  await get(port, '/named');
  await got(`<190>${HEAD} named: /named -`);
  await get(port, '/denied');
  await got(String.raw`<187>${HEAD} denied: \d{4}/\d\d/\d\d \d\d:\d\d:\d\d \[error\] \d+#\d+: \*\d+ access forbidden by rule, client: .*`);
  await exchange(t, srv.port('stream'), '');
  await got(`<190>${HEAD} stream: 5`);
  await srv.configure('this is wrong');
  srv.signal('SIGHUP');
  await got(String.raw`<152>${HEAD} web: \d{4}/\d\d/\d\d \d\d:\d\d:\d\d \[emerg\] .*`);
  t.deepEqual(
    syslog.received.filter(({ text }) => / web: .*\[(?:notice|info)\]|\/off/.test(text)),
    [],
  );
});

const RECEIVER = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('ready', flush=True)
while True: print(s.recv(65536).decode(), flush=True)
`;

const hasUnixDatagrams = process.platform === 'linux' && process.getBuiltinModule('node:ffi') !== undefined;

(hasUnixDatagrams ? testWith('python3') : test.skip)('by a unix socket, which may come later (python3 receives)', async (t) => {
  const socket = `${tempFolder(t)}/log`;
  const srv = await startSrv(
    t,
    `error_log logs/error.log; events {} http { log_format short "$request_uri";
    server { listen 127.0.0.1:%%PORT_web%%; access_log syslog:server=unix:${socket},nohostname short; return 200; } }`,
  );
  await get(srv.port('web'), '/nobody');
  const receiver = spawn('python3', ['-c', RECEIVER, socket], { stdio: ['ignore', 'pipe', 'inherit'] });
  if (receiver.pid !== undefined) guard.watch(receiver.pid);
  const lines: string[] = [];
  createInterface(receiver.stdout).on('line', (line) => lines.push(line));
  t.teardown(async () => {
    receiver.kill();
    await once(receiver, 'close');
    if (receiver.pid !== undefined) guard.forget(receiver.pid);
  });
  await waitFor('the receiver', () => lines.length === 1);
  await get(srv.port('web'), '/received');
  await waitFor('the line', () => lines.length === 2);
  t.regex(lines[1] ?? '', /^<190>\w{3} [ \d]\d \d\d:\d\d:\d\d nginx: \/received$/);
});

/** Messages of a stream whose lengths are in front of them (RFC 6587, 3.4.1), from all connections. */
async function streamServer(t: Scope, port = 0): Promise<{ readonly port: number; readonly messages: string[]; cut(): Promise<void> }> {
  const messages: string[] = [];
  const sockets = new Set<Socket>();
  const backend = await rawBackend(
    t,
    (socket) => {
      sockets.add(socket);
      let bytes = Buffer.alloc(0);
      socket.on('data', (piece: Buffer) => {
        bytes = Buffer.concat([bytes, piece]);
        for (;;) {
          const [head = '', digits = ''] = /^([1-9]\d*) /.exec(bytes.toString('latin1', 0, 10)) ?? [];
          const end = head.length + Number(digits);
          if (head === '' || bytes.length < end) return;
          messages.push(bytes.toString('utf8', head.length, end));
          bytes = bytes.subarray(end);
        }
      });
    },
    port,
  );
  const cut = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await backend.close();
  };
  return { port: backend.port, messages, cut };
}

test('by TCP, with the length in front of each line; a server that was away gets what it has missed', async (t) => {
  const first = await streamServer(t);
  const { port } = first;
  const srv = await startSrv(
    t,
    `error_log logs/error.log; events {} http { log_format short "$request_uri $arg_a";
    server { listen 127.0.0.1:%%PORT_web%%; access_log syslog:server=127.0.0.1:${port},tcp,rfc5424,nohostname,tag=web short; return 200; } }`,
  );
  await get(srv.port('web'), '/one?a=%C3%A9');
  await waitFor('the line', () => first.messages.length === 1);
  t.regex(first.messages[0] ?? '', /^<190>1 \d{4}-\S+Z - web \d+ - - \/one\?a=%C3%A9 %C3%A9$/);
  await Promise.all(Array.from({ length: 20 }, (_, at) => get(srv.port('web'), `/many-${at}`)));
  await waitFor('all lines', () => new Set(first.messages).size === 21);
  await first.cut();
  for (let at = 0; at < 5; at++) await get(srv.port('web'), `/away-${at}`);
  const second = await streamServer(t, port);
  await waitFor('the lines of before', () => [0, 1, 2, 3, 4].every((at) => second.messages.some((text) => text.endsWith(`/away-${at} -`))));
});

test('by TCP: lines beyond the memory for them are lost, and their number is the first line afterwards', async (t) => {
  const { port } = await streamServer(t).then(async (server) => (await server.cut(), server));
  const srv = await startSrv(
    t,
    `error_log logs/error.log; events {} http { log_format long "$arg_n ${'x'.repeat(40_000)}";
    server { listen 127.0.0.1:%%PORT_web%%; access_log syslog:server=127.0.0.1:${port},tcp,nohostname long; return 200; } }`,
  );
  for (let at = 0; at < 40; at++) t.is((await get(srv.port('web'), `/?n=${at}`)).status, 200, 'requests wait for nothing');
  const server = await streamServer(t, port);
  await waitFor('the lines that were kept', () => server.messages.some((text) => /nginx: \d+ lines were lost/.test(text)));
  const [, lost] = /nginx: (\d+) lines were lost/.exec(server.messages.find((text) => text.includes('were lost')) ?? '') ?? [];
  await waitFor('all that is not lost', () => server.messages.length - 1 === 40 - Number(lost));
  t.true(Number(lost) >= 10);
});

test('a unix socket cannot have a stream', async (t) => {
  const { code, stderr } = await check(t, 'events {} error_log syslog:server=unix:/dev/log,tcp; http { }');
  t.is(code, 1);
  t.regex(stderr, /syslog server "unix:\/dev\/log" cannot be used with "tcp"/);
});
