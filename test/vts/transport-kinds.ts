/** Requests and sessions over TLS, HTTP/2, TCP and UDP, and the figures that follow from what clients and members have counted. */
import { once } from 'node:events';
import { connect as connectHttp2, constants, type ClientHttp2Session } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import type { ExecutionContext } from 'ava';
import { httpBackend, rawBackend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { datagramBackend, datagramClient, echo } from '../harness/datagrams.js';
import { waitFor } from '../harness/wait.js';
import type { Node } from '../control/node.js';
import { Client, overHttp2, Truth, type Counts, type Script } from './clients.js';

const CLIENTS = 4;
const FILE = 'x'.repeat(1000);
const RANGES = ['bytes=0-9', 'bytes=990-', 'bytes=-7', 'bytes=0-1,500-509', 'bytes=2000-'];

interface Figures {
  readonly requests: number;
  readonly sessions: number;
  readonly active: number;
  readonly attempts: number;
  readonly failures: number;
  readonly abandoned: number;
  readonly received: number;
  readonly sent: number;
  readonly aborted: number;
  readonly tls: number;
  readonly udp: number;
  readonly responses: { readonly codes: Counts };
  readonly protocols: Counts;
  readonly times: { readonly count: number };
}
interface Listener {
  readonly accepted: number;
  readonly current: number;
  readonly tls?: {
    readonly handshakes: number;
    readonly resumed: number;
    readonly failed: number;
    readonly protocols: Counts;
    readonly failures: Counts;
  };
}
interface Statistics {
  readonly servers: Readonly<Record<string, Figures>>;
  readonly upstreams: Readonly<Record<string, Figures>>;
  readonly stream_servers: Readonly<Record<string, Figures>>;
  readonly stream_upstreams: Readonly<Record<string, Figures>>;
  readonly listeners: Readonly<Record<string, Listener>>;
}

/** Also of a connection that fails. */
const closed = (socket: Socket): Promise<unknown> => new Promise((resolve) => socket.once('close', resolve));

/** Counts by name. */
class Tally {
  readonly counts: Counts = {};
  add(name: string, amount = 1): void {
    this.counts[name] = (this.counts[name] ?? 0) + amount;
  }
  of(name: string): number {
    return this.counts[name] ?? 0;
  }
}

/** @param rounds of about 18 requests, sessions and handshakes each */
export async function allTransports(t: ExecutionContext, rounds: number): Promise<Script> {
  const truth = new Truth();
  const tally = new Tally();
  /** Requests that are reset when the member has them. */
  const waiting = new Map<string, () => void>();
  const member = await httpBackend(t, (request) => {
    tally.add('member');
    waiting.get(request.url!.slice(1))?.();
  });
  const echoing = await rawBackend(t, (socket) => void socket.pipe(socket));
  const datagrams = await datagramBackend(t, echo);
  const { key, cert } = selfSigned('here.example');

  /** A connection over TLS until its end. @returns the session, if there was a handshake */
  const secure = async (port: number, options: ConnectionOptions, request = ''): Promise<Buffer | undefined> => {
    const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options });
    let session: Buffer | undefined;
    socket.on('error', () => undefined);
    socket.on('secureConnect', () => {
      session = socket.getSession();
      tally.add(`${socket.getProtocol()} at ${port}`);
      if (socket.isSessionReused()) tally.add('resumed');
      if (request !== '') socket.write(request);
    });
    socket.resume();
    await closed(socket);
    return session;
  };
  const reset = async (session: ClientHttp2Session, name: string, body: boolean): Promise<void> => {
    const arrived = new Promise<void>((resolve) => waiting.set(name, resolve));
    const stream = session.request({ ':path': `/wait${name}`, ...(body && { ':method': 'POST' }) }, { endStream: !body });
    stream.on('error', () => undefined);
    if (body) stream.write('part');
    await arrived;
    stream.close(constants.NGHTTP2_CANCEL);
    tally.add('reset');
  };

  const run = async ({ srv }: Node): Promise<void> => {
    const tls = srv.port('tls');
    const tcp = async (text: string, leaves: boolean): Promise<void> => {
      const socket = connect(srv.port('tcp'), '127.0.0.1');
      socket.on('error', () => undefined);
      socket.write(text);
      for (let received = 0; received < text.length;) received += ((await once(socket, 'data')) as [Buffer])[0].length;
      if (leaves) socket.resetAndDestroy();
      else socket.end();
      await closed(socket);
      tally.add('tcp');
      tally.add('tcp bytes', text.length);
    };

    const client = async (number: number): Promise<void> => {
      const one = await Client.open(srv.port('ranges'), truth);
      const session = connectHttp2(`https://127.0.0.1:${tls}`, { rejectUnauthorized: false });
      await once(session, 'connect');
      tally.add(`TLSv1.3 at ${tls}`);
      const udp = await datagramClient(t, srv.port('udp'));
      for (let round = number; round < rounds; round += CLIENTS) {
        for (const range of RANGES) await one.request('GET', '/file', { headers: `Range: ${range}\r\n` });
        await one.request('GET', '/file');
        await one.request('HEAD', '/file', { headers: 'Range: bytes=0-9\r\n' });
        for (let request = 0; request < 4; request++) await overHttp2(session, '/');
        tally.add('h2', 4);
        await reset(session, `/${round}`, false);
        await reset(session, `/${round}-body`, true);
        const first = await secure(tls, { maxVersion: 'TLSv1.2' }, 'GET / HTTP/1.0\r\n\r\n');
        await secure(tls, { maxVersion: 'TLSv1.2', ...(first && { session: first }) }, 'GET / HTTP/1.0\r\n\r\n');
        tally.add('h1', 2);
        await secure(tls, { maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'ALL@SECLEVEL=0' });
        await secure(tls, { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384' });
        const silent = connect(tls, '127.0.0.1');
        silent.end(Buffer.from([0x16, 3, 1, 0, 100, 1]));
        silent.resume();
        await closed(silent);
        await tcp('a'.repeat(1 + (round % 9)), round % 2 === 0);
        await secure(srv.port('stream_tls'), {});
        const before = udp.received.length;
        udp.send('b'.repeat(1 + (round % 5)));
        tally.add('udp bytes', 1 + (round % 5));
        await waitFor('the datagram', () => udp.received.length > before);
      }
      session.close();
      one.socket.destroy();
    };
    await Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
  };

  const isOver = (statistics: object, { srv }: Node): boolean => {
    const { servers, stream_servers: streams, listeners } = statistics as Statistics;
    const sections = [...Object.values(servers), ...Object.values(streams)];
    const open = listeners[`127.0.0.1:${srv.port('tls')}`]?.current;
    return sections.every(({ active }) => active === 0) && streams['udp']?.sessions === rounds && open === 0;
  };

  const verify = (statistics: object, { srv }: Node): number => {
    const tls = srv.port('tls');
    const address = (name: string): string => `127.0.0.1:${srv.port(name)}`;
    const { servers, upstreams, stream_servers: streams, stream_upstreams: attempts, listeners } = statistics as Statistics;
    const ranges = servers['ranges']!;
    t.deepEqual(truth.codes, { 206: 5 * rounds, 416: rounds, 200: rounds });
    t.deepEqual(ranges.responses.codes, truth.codes);
    t.is(ranges.received, truth.sent);
    t.is(ranges.sent, truth.received);
    t.is(ranges.times.count, truth.requests);

    const over = servers['secure']!;
    t.deepEqual(over.responses.codes, { 200: tally.of('h2') + tally.of('h1'), 499: tally.of('reset') });
    t.deepEqual(over.protocols, { 'HTTP/1.0': tally.of('h1'), 'HTTP/2.0': tally.of('h2') + tally.of('reset') });
    t.is(over.aborted, tally.of('reset'));
    t.is(over.tls, over.requests);
    const reached = upstreams[`127.0.0.1:${member.port}`]!;
    t.is(reached.attempts, tally.of('member'));
    t.is(reached.abandoned, tally.of('reset'));
    t.is(reached.failures, 0);

    const handshakes = (protocol: string): number => tally.of(`${protocol} at ${tls}`);
    t.like(listeners[address('tls')], {
      accepted: CLIENTS + 5 * rounds,
      tls: {
        handshakes: handshakes('TLSv1.2') + handshakes('TLSv1.3'),
        resumed: tally.of('resumed'),
        protocols: { 'TLSv1.2': 2 * rounds, 'TLSv1.3': CLIENTS },
        failed: 3 * rounds,
        failures: { protocol: rounds, cipher: rounds, closed: rounds },
      },
    });
    t.is(tally.of('resumed'), rounds);
    t.is(listeners[address('ranges')]!.accepted, CLIENTS);

    const { tcp: plain, udp } = streams;
    t.like(plain, {
      sessions: rounds,
      tls: 0,
      received: tally.of('tcp bytes'),
      sent: tally.of('tcp bytes'),
      responses: { codes: { 200: rounds } },
    });
    t.like(streams['stream-tls'], { sessions: rounds, tls: rounds, sent: rounds * 'secret'.length });
    t.like(udp, { sessions: rounds, udp: rounds, received: tally.of('udp bytes'), sent: tally.of('udp bytes') });
    t.like(attempts[`127.0.0.1:${echoing.port}`], {
      attempts: echoing.connections,
      failures: 0,
      sent: tally.of('tcp bytes'),
      received: tally.of('tcp bytes'),
    });
    t.like(attempts[`127.0.0.1:${datagrams.port}`], { attempts: datagrams.received.length, failures: 0, sent: tally.of('udp bytes') });
    return ranges.requests + over.requests + Object.values(streams).reduce((sum, { sessions }) => sum + sessions, 0);
  };

  return {
    files: { 'conf/key.pem': key, 'conf/cert.pem': cert, 'html/file': FILE },
    http: `
      ssl_certificate cert.pem; ssl_certificate_key key.pem; ssl_protocols TLSv1.2 TLSv1.3; ssl_session_cache shared:sessions:1m;
      ssl_ciphers ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256;
      server { listen 127.0.0.1:%%PORT_tls%% ssl; server_name secure; http2 on;
        location / { return 200 fixed; }
        location /wait { proxy_pass http://127.0.0.1:${member.port}/; proxy_request_buffering off; } }
      server { listen 127.0.0.1:%%PORT_ranges%%; server_name ranges; root html; }`,
    stream: `
      server { listen 127.0.0.1:%%PORT_tcp%%; server_name tcp; proxy_pass 127.0.0.1:${echoing.port}; }
      server { listen 127.0.0.1:%%PORT_stream_tls%% ssl; server_name stream-tls; ssl_certificate cert.pem; ssl_certificate_key key.pem; return secret; }
      server { listen 127.0.0.1:%%PORT_udp%% udp; server_name udp; proxy_responses 1; proxy_pass 127.0.0.1:${datagrams.port}; }`,
    run,
    isOver,
    verify,
  };
}
