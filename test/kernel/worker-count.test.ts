import test from 'ava';
import { connectRaw, get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

const conf = (workers: number): string => `
worker_processes ${workers};
error_log logs/error.log notice;
events {}
http { server { listen 127.0.0.1:%%PORT_web%%; return 200 "ok"; } }
`;

const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

test('a connection that rests when its worker is told to end gets a response to the request that comes then', async (t) => {
  const srv = await startSrv(t, conf(4));
  const connections = await Promise.all(Array.from({ length: 32 }, () => connectRaw(t, srv.port('web'))));
  for (const connection of connections.slice(16)) connection.send(REQUEST);
  for (const connection of connections.slice(16)) await connection.receive(/200 OK[^]*keep-alive[^]*ok$/);
  for (const connection of connections) connection.take();
  await srv.configure(conf(1));
  srv.signal('SIGHUP');
  await srv.waitForLog(/(gracefully shutting down[^]*){3}/);
  for (const connection of connections) connection.send(REQUEST);
  for (const connection of connections) t.truthy(await connection.receive(/200 OK[^]*ok$/));
  await srv.waitForLog(/(worker \d exited with code 0[^]*){3}/);
});

test('new connections go on while workers end', async (t) => {
  const srv = await startSrv(t, conf(4));
  const over = new AbortController();
  const failures: string[] = [];
  const client = async (): Promise<void> => {
    while (!over.signal.aborted) await get(srv.port('web'), '/').catch((error: Error) => failures.push(error.message));
  };
  const clients = Array.from({ length: 16 }, client);
  for (const [round, workers] of [1, 4, 1, 4, 1].entries()) {
    await srv.configure(conf(workers));
    srv.signal('SIGHUP');
    await srv.waitForLog(new RegExp(`(reconfigured[^]*){${round + 1}}`));
  }
  await srv.waitForLog(/(worker \d exited with code 0[^]*){9}/);
  over.abort();
  await Promise.all(clients);
  // A connection may come at the very moment at which a socket is closed: one for each worker that leaves. Without care it is a dozen.
  t.true(failures.length <= 9, failures.join('\n'));
});
