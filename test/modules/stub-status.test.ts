import { isDeepStrictEqual } from 'node:util';
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { connectRaw, get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

for (const workers of [1, 2]) {
  test(`stub_status counts over all workers (${workers})`, async (t) => {
    const ends: (() => void)[] = [];
    const backend = await httpBackend(t, (_, response) => void ends.push(() => response.end('held')));
    const srv = await startSrv(
      t,
      `worker_processes ${workers};
      events {}
      http {
        server {
          listen 127.0.0.1:%%PORT_web%%;
          location / { return 200 ok; }
          location /held { proxy_pass http://127.0.0.1:${backend.port}; }
          location /status { stub_status; }
          location /variables { return 200 "$connections_active $connections_reading $connections_writing $connections_waiting"; }
        }
      }`,
    );
    const port = srv.port('web');
    const figures = async (): Promise<number[]> => {
      const { body } = await get(port, '/status');
      t.regex(
        body,
        /^Active connections: \d+ \nserver accepts handled requests\n \d+ \d+ \d+ \nReading: \d+ Writing: \d+ Waiting: \d+ \n$/,
      );
      return (body.match(/\d+/g) ?? []).map(Number);
    };
    // A worker may still count the connection of the question before.
    const settled = (active: number, reading: number, writing: number, waiting: number): Promise<number[]> =>
      waitFor(`${active} connections: ${reading} read, ${writing} written, ${waiting} wait`, async () => {
        const now = await figures();
        return isDeepStrictEqual([now[0], ...now.slice(4)], [active, reading, writing, waiting]) && now;
      });
    const [, accepts = 0, handled = 0, requests = 0] = await settled(1, 0, 1, 0);
    t.is(accepts, handled);

    const idle = await connectRaw(t, port);
    const served = await connectRaw(t, port);
    served.send('GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await served.receive(/ok[^]*ok$/);
    const reading = await connectRaw(t, port);
    reading.send('GET / HT');
    const writing = await connectRaw(t, port);
    writing.send('GET /held HTTP/1.1\r\nHost: a\r\n\r\n');
    await waitFor('the request at the member', () => ends.length === 1);
    await settled(5, 1, 2, 2); // the one that asks writes as well
    await waitFor('the same as variables', async () => (await get(port, '/variables')).body === '5 1 2 2');

    ends[0]?.();
    await writing.receive(/held/);
    for (const { socket } of [idle, served, reading, writing]) socket.destroy();
    const after = await settled(1, 0, 1, 0);
    t.is((after[1] ?? 0) - accepts, (after[2] ?? 0) - handled);
    t.true((after[3] ?? 0) - requests >= 3 + 3);
    t.is((await get(port, '/status', { method: 'POST' })).status, 405);
  });
}
