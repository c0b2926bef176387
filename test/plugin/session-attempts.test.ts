import test from 'ava';
import { rawBackend } from '../harness/backends.js';
import { connectRaw, exchange } from '../harness/client.js';
import { datagramBackend, datagramClient, echo } from '../harness/datagrams.js';
import { plugin } from '../harness/plugins.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** Keeps what it sees of attempts at members, and shows it. */
const TRACING = plugin('tracing', {
  kind: 'stream',
  manifest: `directives: { trace: directive({ in: ['stream server'], args: text() }) }`,
  body: `
  constructor() {
    this.events = [];
  }
  compile(scope) {
    const { trace } = scope.conf;
    if (trace === undefined) return undefined;
    if (trace === 'show') return { content: (session) => session.send(JSON.stringify(this.events.splice(0))) };
    return {
      memberAttempt: (session, attempt, event) => {
        if (trace === 'throw') throw new Error('traced to throw');
        const { number, upstream, address, isReused, status, failure, sent, received, connectTime, headerTime, responseTime } = attempt;
        const times = [connectTime, headerTime, responseTime].map((time) => (time < 0 ? '-' : '+')).join('');
        this.events.push({ protocol: session.protocol, event, number, upstream, address, isReused, status, failure, sent, received, times });
      },
    };
  }`,
});

type Seen = Readonly<Record<string, unknown>>;

test('modules see the attempts of a session, over TCP and UDP: members, failures, first bytes and the end', async (t) => {
  const backend = await rawBackend(t, (socket) => void socket.pipe(socket));
  const datagrams = await datagramBackend(t, echo);
  const srv = await startSrv(
    t,
    `load_module modules/tracing.js; error_log logs/error.log info; worker_processes 1; events {}
    stream {
      upstream pair { server 127.0.0.1:%%PORT_dead%%; server 127.0.0.1:${backend.port} backup; }
      server { listen 127.0.0.1:%%PORT_show%%; trace show; }
      server { listen 127.0.0.1:%%PORT_tcp%%; trace yes; proxy_pass pair; }
      server { listen 127.0.0.1:%%PORT_refused%%; trace yes; proxy_pass 127.0.0.1:%%PORT_dead%%; }
      server { listen 127.0.0.1:%%PORT_throw%%; trace throw; proxy_pass 127.0.0.1:${backend.port}; }
      server { listen 127.0.0.1:%%PORT_udp%% udp; trace yes; proxy_pass 127.0.0.1:${datagrams.port}; proxy_responses 1; }
    }`,
    { files: { 'modules/tracing.js': TRACING } },
  );
  const seen: Seen[] = [];
  const eventually = async (count: number): Promise<Seen[]> => {
    await waitFor(`${count} events`, async () => {
      seen.push(...(JSON.parse(await exchange(t, srv.port('show'), '')) as Seen[]));
      return seen.length >= count;
    });
    return seen.splice(0);
  };
  const dead = `127.0.0.1:${srv.port('dead')}`;
  const alive = { number: 2, upstream: 'pair', address: `127.0.0.1:${backend.port}`, isReused: false, protocol: 'TCP' };
  const client = await connectRaw(t, srv.port('tcp'));
  client.send('hello');
  await client.receive(/hello/);
  client.socket.end();
  const events = await eventually(6);
  t.like(events, [
    { event: 'begin', number: 1, address: dead, status: 0, times: '---' },
    { event: 'end', number: 1, address: dead, status: 502, times: '--+' },
    { event: 'begin', ...alive },
    { event: 'connected', ...alive, status: 200, times: '+--' },
    { event: 'head', ...alive, received: 5, times: '++-' },
    { event: 'end', ...alive, status: 200, failure: '', sent: 5, received: 5, times: '+++' },
  ]);
  t.regex(String(events[1]?.['failure']), /^connect\(\) failed \(111: Connection refused\)/);

  await exchange(t, srv.port('refused'), '');
  t.like(await eventually(2), [{ event: 'begin' }, { event: 'end', status: 502 }]);

  const flow = await datagramClient(t, srv.port('udp'));
  flow.send('datagram');
  t.like(await eventually(4), [
    { event: 'begin', protocol: 'UDP' },
    { event: 'connected', protocol: 'UDP' },
    { event: 'head', received: 8 },
    { event: 'end', status: 200, sent: 8, received: 8, failure: '' },
  ]);

  const unharmed = await connectRaw(t, srv.port('throw'));
  unharmed.send('hello');
  await unharmed.receive(/hello/);
  await srv.waitForLog(/a handler of "tracing" failed: Error: traced to throw/);
});
