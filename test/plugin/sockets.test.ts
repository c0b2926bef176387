/** Connections and datagrams of modules, with either event method. */
import test from 'ava';
import { createServer } from 'node:tls';
import type { AddressInfo, Socket } from 'node:net';
import { hasEpoll } from '../harness/event-methods.js';
import { rawBackend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { get } from '../harness/client.js';
import { datagramBackend } from '../harness/datagrams.js';
import { plugin } from '../harness/plugins.js';
import { freePort } from '../harness/ports.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';

/** Bytes that are more than a socket takes at once. */
const LARGE = 8_000_000;

const MODULE = plugin('test_dial_module', {
  imports: `import { Sockets } from 'srv/module/sockets.js'; import { readFileSync } from 'node:fs'; import { ServerInfo } from 'srv/module/server-info.js';`,
  manifest: `api: '1.2', directives: { dial: directive({ in: ['location'], args: text(), inherit: 'none' }) }`,
  body: `
  static services = [Sockets, ServerInfo];
  constructor(sockets, info) { this.sockets = sockets; this.info = info; }
  compile(scope) {
    if (!scope.own('dial')) return undefined;
    const [kind, port, name = ''] = scope.conf.dial.split(' ');
    const address = port.startsWith('/') ? { path: port } : { host: '127.0.0.1', port: Number(port) };
    return { content: async (request) => request.send(200, await this[kind](address, name)) };
  }
  tls(name) {
    if (name === '') return undefined;
    const context = { ca: readFileSync(this.info.path('conf/ca.pem')) };
    return { name, settings: { context, sendsName: true, verifies: true, verifyDepth: 1, reusesSessions: false, alpn: ['two', 'one'] } };
  }
  plain(address, name) {
    return new Promise((resolve) => {
      const seen = [];
      let sync = true;
      const socket = this.sockets.connect(address, {
        onReached: () => seen.push('reached'),
        onOpen: (protocol) => { seen.push('open ' + protocol + ' ' + sync); socket.write('hel', 'latin1'); socket.write(Buffer.from('lo'), () => seen.push('sent')); },
        onData: (bytes) => { seen.push(bytes.latin1Slice()); },
        onEnd: () => { seen.push('end'); socket.end(); },
        onClosed: (failure) => resolve([...seen, 'closed', ...(failure ? [failure.failure, failure.message] : [])].join('|')),
      }, this.tls(name));
      sync = false;
    });
  }
  large(address) {
    return new Promise((resolve, reject) => {
      let count = 0;
      const stream = this.sockets.stream(address);
      stream.on('connect', () => stream.end(Buffer.alloc(${LARGE}, 'x')));
      stream.on('data', (bytes) => { count += bytes.length; stream.pause(); setImmediate(() => stream.resume()); });
      stream.on('error', reject).on('close', () => resolve(String(count)));
    });
  }
  stream(address, name) {
    return new Promise((resolve) => {
      const seen = [];
      const stream = this.sockets.stream(address, this.tls(name));
      for (const event of ['reached', 'connect', 'end']) stream.on(event, () => seen.push(event));
      stream.on('data', (bytes) => seen.push(String(bytes))).on('error', ({ failure }) => seen.push(failure)).on('close', () => resolve(seen.join('|')));
      stream.write('hello');
    });
  }
  datagram(address) {
    return new Promise((resolve) => {
      const finish = (text) => { socket.close(); resolve(text); };
      const socket = this.sockets.datagrams(address, { onDatagram: (bytes) => finish(bytes.latin1Slice()), onFailed: ({ failure, message }) => finish(failure + '|' + message) });
      socket.send(Buffer.from('hello'));
    });
  }`,
});

interface Site {
  readonly srv: Srv;
}

/** Responds to five bytes, in whatever pieces they come. */
function respondOnce(socket: Socket): void {
  let text = '';
  socket.on('error', () => undefined);
  socket.on('data', (bytes) => {
    text += bytes.toString();
    if (text.length >= 5) socket.end(`got ${text.slice(0, 5)}`);
  });
}

async function startSite(t: Scope, method: string): Promise<Site> {
  const certificate = selfSigned('dial.example');
  const reply = await rawBackend(t, (socket) => {
    respondOnce(socket);
  });
  const echo = await rawBackend(t, (socket) => {
    socket.on('error', () => undefined).pipe(socket);
  });
  const leaving = await rawBackend(t, (socket) => {
    socket.once('data', () => socket.end());
  });
  const secure = createServer({ ...certificate, ALPNProtocols: ['one'] }, (socket) => {
    respondOnce(socket);
  }).on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve));
  t.teardown(() => new Promise<void>((resolve) => secure.close(() => resolve())));
  const udp = await datagramBackend(t, (bytes, send) => send(`got ${bytes.toString()}`));
  const closed = await freePort(t);
  const tls = (secure.address() as AddressInfo).port;
  const places = {
    tcp: `plain ${reply.port}`,
    closed: `plain ${closed}`,
    missing: 'plain /no/such.sock',
    tls: `plain ${tls} dial.example`,
    'other-name': `plain ${tls} other.example`,
    leaving: `plain ${leaving.port} dial.example`,
    'not-tls': `plain ${reply.port} dial.example`,
    large: `large ${echo.port}`,
    stream: `stream ${reply.port}`,
    'stream-tls': `stream ${tls} dial.example`,
    'stream-closed': `stream ${closed}`,
    'stream-other-name': `stream ${tls} other.example`,
    datagram: `datagram ${udp.port}`,
    'datagram-closed': `datagram ${closed}`,
  };
  const locations = Object.entries(places).map(([name, dial]) => `location /${name} { dial "${dial}"; }`);
  const srv = await startSrv(
    t,
    `load_module modules/test_dial_module.mjs; worker_processes 1; error_log logs/error.log; events { ${method} }
    http { server { listen 127.0.0.1:%%PORT_web%%; ${locations.join('\n')} } }`,
    { files: { 'modules/test_dial_module.mjs': MODULE, 'conf/ca.pem': certificate.cert } },
  );
  return { srv };
}

for (const method of ['epoll', 'node']) {
  const site = shared((t) => startSite(t, `use ${method};`));
  const tried = method === 'node' || hasEpoll ? test : test.skip;
  const asked = async (path: string): Promise<string> => (await get((await site()).srv.port('web'), path)).body;

  tried(`${method}: a connection, with and without TLS`, async (t) => {
    t.regex(await asked('/tcp'), /^open undefined false\|sent\|got hello\|end\|closed$/);
    t.regex(await asked('/tls'), /^reached\|open one false\|sent\|got hello\|end\|closed$/);
  });

  tried(`${method}: failures say of what kind they are, in the words of nginx`, async (t) => {
    t.is(await asked('/closed'), 'closed|network|connect() failed (111: Connection refused)');
    t.is(await asked('/missing'), 'closed|network|connect() failed (2: No such file or directory)');
    t.is(await asked('/other-name'), 'reached|closed|certificate|upstream SSL certificate does not match "other.example"');
    t.is(await asked('/leaving'), 'reached|closed|handshake|peer closed connection in SSL handshake');
    t.regex(await asked('/not-tls'), /^reached\|closed\|handshake\|SSL_do_handshake\(\) failed \(SSL: .*wrong version number.*\)$/);
  });

  tried(`${method}: a stream for libraries`, async (t) => {
    t.is(await asked('/stream'), 'connect|got hello|end');
    t.is(await asked('/stream-tls'), 'reached|connect|got hello|end');
    t.is(await asked('/stream-closed'), 'network');
    t.is(await asked('/stream-other-name'), 'reached|certificate');
    t.is(await asked('/large'), String(LARGE));
  });

  tried(`${method}: datagrams`, async (t) => {
    t.is(await asked('/datagram'), 'got hello');
    t.is(await asked('/datagram-closed'), 'network|recv() failed (111: Connection refused)');
  });
}
