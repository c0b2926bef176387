/** `sendfile on`: large files leave the system's memory for the connection without being read. Their clients see the same bytes. */
import { createHash } from 'node:crypto';
import { readdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import test from 'ava';
import { connectRaw, exchange } from '../harness/client.js';
import { shared } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';

/** More than the sockets of both sides hold. */
const LARGE = 12_000_000;
const CONTENT = Buffer.alloc(LARGE);
for (let at = 0; at < LARGE; at += 4) CONTENT.writeUInt32LE(at, at);

const site = shared(async (t) => {
  const folder = tempFolder(t);
  writeFileSync(`${folder}/large`, CONTENT);
  writeFileSync(`${folder}/small`, CONTENT.subarray(0, 1000));
  const srv = await startSrv(
    t,
    `worker_processes 1; events {} http { root ${folder}; send_timeout 20s;
      server { listen 127.0.0.1:%%PORT_web%%;
        location / { sendfile on; }
        location /chunks/ { sendfile on; sendfile_max_chunk 64k; alias ${folder}/; }
        location /paced/ { sendfile on; limit_rate 100m; alias ${folder}/; }
        location /read/ { alias ${folder}/; } } }`,
  );
  return { srv };
});

const digest = (bytes: string | Buffer): string =>
  createHash('sha256')
    .update(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
    .digest('hex');

const bodyOf = (response: string): string => response.slice(response.indexOf('\r\n\r\n') + 4);

const openFiles = ({ pid }: Srv): number => readdirSync(`/proc/${pid}/fd`).length;

for (const path of ['/large', '/chunks/large', '/paced/large', '/read/large']) {
  test(`${path} is whole, and the connection goes on`, async (t) => {
    const { srv } = await site();
    const requests = `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\nGET /small HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
    const received = await exchange(t, srv.port('web'), requests);
    const first = bodyOf(received).slice(0, LARGE);
    t.is(digest(first), digest(CONTENT));
    t.is(digest(bodyOf(bodyOf(received).slice(LARGE))), digest(CONTENT.subarray(0, 1000)));
  });
}

test('ranges, and a response without a body', async (t) => {
  const { srv } = await site();
  const ask = (line: string): Promise<string> =>
    exchange(t, srv.port('web'), `${line}\r\nHost: a\r\nRange: bytes=100000-199999\r\nConnection: close\r\n\r\n`);
  t.is(digest(bodyOf(await ask('GET /large HTTP/1.1'))), digest(CONTENT.subarray(100_000, 200_000)));
  t.is(bodyOf(await ask('HEAD /large HTTP/1.1')), '');
  const parts = await exchange(
    t,
    srv.port('web'),
    'GET /large HTTP/1.1\r\nHost: a\r\nRange: bytes=0-49999,5000000-5099999\r\nConnection: close\r\n\r\n',
  );
  const [, length = ''] = /Content-Length: (\d+)/.exec(parts) ?? [];
  t.is(bodyOf(parts).length, Number(length));
  for (const [from, to] of [
    [0, 50_000],
    [5_000_000, 5_100_000],
  ] as const)
    t.true(parts.includes(CONTENT.latin1Slice(from, to)), `${from}`);
});

test('a client that reads late gets everything, and others are served meanwhile', async (t) => {
  const { srv } = await site();
  const connection = await connectRaw(t, srv.port('web'));
  connection.socket.pause();
  connection.send('GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  const other = await exchange(t, srv.port('web'), 'GET /small HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  t.is(bodyOf(other).length, 1000);
  connection.socket.resume();
  t.is(digest(bodyOf(await connection.receiveAll())), digest(CONTENT));
});

test.serial('requests of one turn leave no file open', async (t) => {
  const { srv } = await site();
  const connections = await Promise.all(Array.from({ length: 30 }, () => connectRaw(t, srv.port('web'))));
  let before = 0;
  for (let round = 1; round <= 5; round++) {
    for (const connection of connections) connection.send('GET /small HTTP/1.1\r\nHost: a\r\n\r\n');
    for (const connection of connections) await connection.receive(new RegExp(`(?:HTTP/1.1 200 [^]*?){${round}}`));
    // All connections are accepted. Files of this round may be open still.
    if (round === 1) before = openFiles(srv);
  }
  await waitFor('the files that are closed', () => openFiles(srv) <= before || undefined);
  t.pass();
});

test.serial('clients that go away leave no file open', async (t) => {
  const { srv } = await site();
  await exchange(t, srv.port('web'), 'GET /small HTTP/1.0\r\n\r\n');
  const before = openFiles(srv);
  const sockets = Array.from({ length: 20 }, () => connect(srv.port('web'), '127.0.0.1'));
  for (const socket of sockets) {
    socket.on('error', () => undefined).pause();
    socket.write('GET /large HTTP/1.1\r\nHost: a\r\n\r\n');
  }
  const opened = (): number => openFiles(srv);
  await waitFor('files that are sent', () => opened() >= before + 30 || undefined);
  for (const [at, socket] of sockets.entries()) {
    if (at % 2 === 0) socket.resetAndDestroy();
    else socket.destroy();
  }
  await waitFor('the end of all', () => opened() <= before + 5 || undefined);
  t.notRegex(srv.log(), /\[(?:alert|crit|emerg)\]/);
});
