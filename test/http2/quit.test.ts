import http2, { type ClientHttp2Session } from 'node:http2';
import test from 'ava';
import { bodyOf, httpBackend } from '../harness/backends.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { data, get, ping, post, PREFACE, settings } from './frames.js';
import { Wire } from './wire.js';

const conf = (backend: number, listen: string): string =>
  `error_log logs/error.log info; worker_processes 2; events {} http { ${listen
    .split(' ')
    .map(
      (name) => `
    server { listen 127.0.0.1:%%PORT_${name}%%; http2 on; location / { return 200 ok; } location /wait { proxy_pass http://127.0.0.1:${backend}; } }`,
    )
    .join('')} }`;

/** The server has announced the end of the connection: GOAWAY for no certain stream, and a PING to confirm. */
const ANNOUNCED = 'GOAWAY NO_ERROR; PING srv-quit';
const CONFIRMED = ping('srv-quit', 1);

test('a quit serves what the client opened before it knew, and refuses nothing that is under way', async (t) => {
  let complete: (() => void) | undefined;
  const backend = await httpBackend(t, (incoming, response) => void bodyOf(incoming).then((body) => (complete = () => response.end(body))));
  const srv = await startSrv(t, conf(backend.port, 'web'));
  const wire = await Wire.open(t, srv.port('web'), PREFACE + settings() + post(1, '/wait') + data(1, 'one'));
  const idle = await Wire.open(t, srv.port('web'));
  const silent = await Wire.open(t, srv.port('web'));
  for (const one of [wire, idle, silent]) t.is(await one.settle(), '');
  srv.signal('SIGQUIT');
  await wire.tells(/PING/);
  wire.send(get(3) + CONFIRMED);
  t.is(await wire.tells(/GOAWAY.*GOAWAY/), `${ANNOUNCED}; 3: 200; 3: 2 bytes, end; GOAWAY NO_ERROR`);
  // It has confirmed, and opens another stream all the same: nothing of it counts, and the others go on.
  wire.send(post(5, '/wait') + data(5, 'five', 1) + data(1, 'two', 1));
  await waitFor('the body at the member', () => complete !== undefined);
  complete?.();
  t.regex(await wire.end(), /GOAWAY NO_ERROR; 1: 200; 1: 6 bytes, end$/);
  t.is(await idle.end(), `${ANNOUNCED}; GOAWAY NO_ERROR`, 'an idle client that confirms nothing has a second');
  idle.socket.destroy();
  silent.socket.destroy();
  t.is((await srv.exited).code, 0);
});

const reloads = (srv: Srv): number => srv.log().match(/reconfigured/g)?.length ?? 0;

/** A client that sends requests all the time, and opens a connection when the old one says that it ends. */
class Persistent {
  done = 0;
  sessions = 0;
  readonly failed: string[] = [];
  #session: ClientHttp2Session | undefined;
  #stopped = false;

  constructor(private readonly url: () => string) {}

  async run(): Promise<void> {
    while (!this.#stopped) {
      await Promise.all(Array.from({ length: 8 }, () => this.#request()));
    }
    this.#session?.close();
  }

  stop(): void {
    this.#stopped = true;
  }

  #request(): Promise<void> {
    const session = this.#connected();
    return new Promise((resolve) => {
      const stream = session.request({ ':path': '/' });
      let status = 0;
      stream.on('response', (headers) => (status = Number(headers[':status'])));
      stream.on('error', () => undefined);
      stream.on('close', () => {
        // Node rejects by itself what it was asked between GOAWAY and its event: nothing of that was sent.
        if (stream.rstCode === http2.constants.NGHTTP2_REFUSED_STREAM && session.closed) resolve(this.#request());
        else {
          if (status === 200 && stream.rstCode === 0) this.done++;
          else this.failed.push(`status ${status}, ${stream.rstCode}`);
          resolve();
        }
      });
      stream.resume();
    });
  }

  #connected(): ClientHttp2Session {
    if (this.#session !== undefined && !this.#session.closed && !this.#session.destroyed) return this.#session;
    this.sessions++;
    const session = http2.connect(this.url());
    session.on('error', (error) => this.failed.push(error.message));
    this.#session = session;
    return session;
  }
}

test('reloads that move the listener lose no request of a client that never rests', async (t) => {
  const backend = await httpBackend(t, (_, response) => response.end('ok'));
  const srv = await startSrv(t, conf(backend.port, 'a b'));
  let port = srv.port('a');
  const client = new Persistent(() => `http://127.0.0.1:${port}`);
  const running = client.run();
  const reload = async (addresses: string): Promise<void> => {
    const before = reloads(srv);
    await srv.configure(conf(backend.port, addresses));
    srv.signal('SIGHUP');
    await waitFor('the reload', () => {
      if (srv.log().includes('stays as it was')) throw new Error(`the reload failed:\n${srv.log()}`);
      return reloads(srv) > before;
    });
  };
  for (const address of ['b', 'a', 'b', 'a']) {
    const [requests, sessions] = [client.done, client.sessions];
    await waitFor('requests', () => client.done > requests + 50);
    // Both addresses are there before and after the client moves; then that of the old connection goes away.
    port = srv.port(address);
    await reload(address);
    await waitFor('the client to move', () => client.sessions > sessions);
    await reload('a b');
  }
  client.stop();
  await running;
  t.deepEqual(client.failed, []);
  t.true(client.sessions >= 5);
});
