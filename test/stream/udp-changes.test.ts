import { readFileSync } from 'node:fs';
import test from 'ava';
import { createSocket } from 'node:dgram';
import { datagramBackend, datagramClient, echo, type DatagramClient } from '../harness/datagrams.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const server = (name: string, member: number, lines = ''): string =>
  `server { listen 127.0.0.1:%%PORT_${name}%% udp; proxy_pass 127.0.0.1:${member}; ${lines} }`;

/** Sockets of workers that receive datagrams of new clients: those of sessions are connected. */
function listeningSockets(port: number): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')} 00000000:0000 `;
  return readFileSync('/proc/net/udp', 'latin1').split(local).length - 1;
}

/** Asks again when a datagram was lost: some may be when a socket is closed. */
async function insist(client: DatagramClient, text: string): Promise<string> {
  let sentAt = 0;
  return waitFor('an echo', () => {
    if (performance.now() - sentAt > 500) {
      client.send(text);
      sentAt = performance.now();
    }
    return client.received.map(String).find((one) => one === text);
  });
}

const configuration = (workers: number, servers: string): string => `
  worker_processes ${workers};
  error_log logs/error.log notice;
  events { worker_connections 40; }
  stream { ${servers} }`;

test('sessions survive reloads, the end of their address and the end of their worker', async (t) => {
  const member = await datagramBackend(t, echo);
  const other = await datagramBackend(t, (bytes, send) => send(`other ${String(bytes)}`));
  const srv = await startSrv(t, configuration(3, server('a', member.port) + server('b', member.port)));
  const clients: DatagramClient[] = [];
  for (let i = 0; i < 12; i++) clients.push(await datagramClient(t, srv.port('a')));
  const [gone] = [await datagramClient(t, srv.port('b'))];
  const ask = async (text: string): Promise<readonly string[]> => Promise.all(clients.map((client, i) => insist(client, `${text}${i}`)));
  const ports = (text: string): Readonly<Record<string, number>> =>
    Object.fromEntries(member.received.filter((one) => one.text.startsWith(text)).map((one) => [one.text.slice(text.length), one.port]));
  let reloads = 0;
  const reload = async (conf: string): Promise<void> => {
    await srv.configure(conf);
    srv.signal('SIGHUP');
    reloads++;
    await waitFor('the reload', () => (srv.log().match(/reconfigured/g)?.length ?? 0) >= reloads);
  };

  await ask('first');
  t.is(await gone.ask('gone'), 'gone');
  const sessions = ports('first');
  t.is(new Set(Object.values(sessions)).size, 12);

  // The server has another member: sessions stay with the old one.
  await reload(configuration(3, server('a', other.port)));
  await ask('second');
  t.deepEqual(ports('second'), sessions);
  t.is(await gone.ask('still'), 'still');
  t.is(await (await datagramClient(t, srv.port('a'))).ask('x'), 'other x');

  await reload(configuration(1, server('a', other.port)));
  await waitFor('the end of the other listeners', () => listeningSockets(srv.port('a')) === 1);
  await ask('third');
  t.deepEqual(ports('third'), sessions);
  t.is(await (await datagramClient(t, srv.port('a'))).ask('y'), 'other y');

  // The address comes back while a session that began there is still open.
  await reload(configuration(1, server('a', other.port) + server('b', other.port)));
  t.is(await (await datagramClient(t, srv.port('b'))).ask('z'), 'other z');
  t.is(await gone.ask('even now'), 'even now');
});

test('a flood from many addresses is bounded by worker_connections; those that are served do not notice', async (t) => {
  const member = await datagramBackend(t, echo);
  const srv = await startSrv(t, configuration(1, server('a', member.port)), { allowCrashes: true });
  const client = await datagramClient(t, srv.port('a'));
  t.is(await client.ask('before'), 'before');
  for (let round = 0; round < 10; round++) {
    const sockets = Array.from({ length: 50 }, () => createSocket('udp4'));
    for (const socket of sockets) socket.send('flood', srv.port('a'), '127.0.0.1');
    t.is(await client.ask(`round ${round}`), `round ${round}`);
    for (const socket of sockets) socket.close();
  }
  await waitFor('the flood', () => member.received.length >= 50);
  t.is(new Set(member.received.map(({ port }) => port)).size, 40);
  const lines = srv.log().match(/40 worker_connections are not enough/g)?.length ?? 0;
  t.true(lines >= 1 && lines < 10, `${lines} lines`);
});
