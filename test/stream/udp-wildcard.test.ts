/** A listener on all addresses responds from the one that the client has sent to: another one's response would not be taken. */
import { createSocket } from 'node:dgram';
import test from 'ava';
import { usesEpoll } from '../harness/event-methods.js';
import { datagramBackend, echo } from '../harness/datagrams.js';
import { shared } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';

const ofEpoll = usesEpoll ? test.serial : test.serial.skip;

const site = shared(async (t) => {
  const backend = await datagramBackend(t, echo);
  return startSrv(
    t,
    `worker_processes 1; events {}
    stream {
      server { listen 0.0.0.0:%%PORT_four%% udp; return "$server_addr"; }
      server { listen 0.0.0.0:%%PORT_relay%% udp; proxy_timeout 60s; proxy_pass 127.0.0.1:${backend.port}; }
      server { listen [::]:%%PORT_both%% udp ipv6only=off; return "$server_addr"; }
    }`,
  );
});

/** Sends one datagram from one socket to each of the addresses. @returns responses, and where they came from */
async function ask(kind: 'udp4' | 'udp6', port: number, hosts: readonly string[]): Promise<string[]> {
  const socket = createSocket(kind);
  const responses: string[] = [];
  try {
    await new Promise<void>((resolve) => {
      socket.on('message', (bytes, { address }) => {
        responses.push(`${String(bytes)} from ${address}`);
        if (responses.length === hosts.length) resolve();
      });
      for (const host of hosts) socket.send(`to ${host}`, port, host);
    });
  } finally {
    socket.close();
  }
  return responses.toSorted();
}

ofEpoll('of IPv4', async (t) => {
  const srv = await site();
  const hosts = ['127.0.0.1', '127.0.0.2', '127.9.8.7'];
  t.deepEqual(
    await ask('udp4', srv.port('four'), hosts),
    hosts.map((host) => `${host} from ${host}`),
  );
});

ofEpoll('of IPv6, and of IPv4 at the same socket', async (t) => {
  const srv = await site();
  t.deepEqual(await ask('udp6', srv.port('both'), ['::1']), ['::1 from ::1']);
  t.deepEqual(await ask('udp4', srv.port('both'), ['127.0.0.3']), ['::ffff:127.0.0.3 from 127.0.0.3']);
});

ofEpoll('sessions of one client with two addresses are apart, also after the listener has gone', async (t) => {
  const srv = await site();
  const hosts = ['127.0.0.1', '127.0.0.2'];
  const port = srv.port('relay');
  const socket = createSocket('udp4');
  t.teardown(() => socket.close());
  const from: string[] = [];
  const received = (count: number): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (from.length < count) socket.once('message', look);
        else resolve();
      };
      look();
    });
  socket.on('message', (bytes, { address }) => void from.push(`${String(bytes)} from ${address}`));
  const send = (): void => hosts.forEach((host) => socket.send(`to ${host}`, port, host));
  const expected = hosts.map((host) => `to ${host} from ${host}`);
  send();
  await received(2);
  t.deepEqual(from.toSorted(), expected);
  await srv.configure('worker_processes 1; error_log logs/error.log notice; events {} http {}');
  srv.signal('SIGHUP');
  await srv.waitForLog(/\[notice\] .* reconfigured/);
  from.length = 0;
  send();
  await received(2);
  t.deepEqual(from.toSorted(), expected);
});
