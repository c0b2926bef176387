/** Names that sessions bring, resolved at run time. */
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import test, { type ExecutionContext } from 'ava';
import { exchange } from '../harness/client.js';
import { dnsServer, type DnsServer } from '../harness/dns-server.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** Listens on every loopback address, and says to which of them a connection came. */
async function everywhere(scope: Scope): Promise<number> {
  const server = createServer((socket) => socket.end(socket.localAddress ?? ''));
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  scope.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

interface Site {
  readonly srv: Srv;
  readonly dns: DnsServer;
}

const site = shared(async (scope): Promise<Site> => {
  const [dns, other, port] = [await dnsServer(scope), await dnsServer(scope), await everywhere(scope)];
  other.a('own.test', ['127.0.0.4']);
  const servers = ['two', 'moved', 'unknown', 'failing', 'silent'].map(
    (name) =>
      `server { listen 127.0.0.1:%%PORT_${name}%%; server_name ${name}.test; ${name === 'silent' ? 'resolver_timeout 300ms;' : ''} resolver 127.0.0.1:${dns.port} ipv6=off; proxy_pass $server_name:${port}; }`,
  );
  const srv = await startSrv(
    scope,
    `events {}
    stream {
      log_format status '$server_port $status';
      access_log logs/access.log status;
      ${servers.join('\n')}
      server { listen 127.0.0.1:%%PORT_portless%%; server_name portless.test; proxy_pass $server_name; }
      server { listen 127.0.0.1:%%PORT_none%%; server_name none.test; proxy_pass $server_name:${port}; }
      server { listen 127.0.0.1:%%PORT_address%%; proxy_pass $server_addr:${port}; }
      server { listen 127.0.0.1:%%PORT_own%%; server_name own.test; resolver 127.0.0.1:${other.port}; proxy_pass $server_name:${port}; }
    }`,
  );
  return { srv, dns };
});

const ask = async (t: ExecutionContext, name: string): Promise<string> => exchange(t, (await site()).srv.port(name), '');

test('all addresses of a name get sessions, in turn, for one query', async (t) => {
  const { dns } = await site();
  dns.a('two.test', ['127.0.0.1', '127.0.0.2']);
  const found = [await ask(t, 'two'), await ask(t, 'two'), await ask(t, 'two'), await ask(t, 'two')];
  t.deepEqual(found.toSorted(), ['127.0.0.1', '127.0.0.1', '127.0.0.2', '127.0.0.2']);
  t.is(dns.count('two.test'), 1);
});

test('a name with other addresses, once its time is over', async (t) => {
  const { dns } = await site();
  dns.a('moved.test', ['127.0.0.1'], 1);
  t.is(await ask(t, 'moved'), '127.0.0.1');
  dns.a('moved.test', ['127.0.0.5'], 1);
  await waitFor('the other address', async () => (await ask(t, 'moved')) === '127.0.0.5');
});

test('a server with a resolver of its own, and one that needs none', async (t) => {
  t.is(await ask(t, 'own'), '127.0.0.4');
  t.is(await ask(t, 'address'), '127.0.0.1');
});

test('targets that cannot be resolved end the session with 500', async (t) => {
  const { srv, dns } = await site();
  dns.fail('failing.test', 'servfail');
  dns.fail('silent.test', 'silent');
  const reasons = {
    unknown: 'unknown.test could not be resolved (3: Host not found)',
    failing: 'failing.test could not be resolved (2: Server failure)',
    silent: 'silent.test could not be resolved (110: Operation timed out)',
    none: 'no resolver defined to resolve none.test',
    portless: 'no port in upstream "portless.test"',
  };
  for (const [name, reason] of Object.entries(reasons)) {
    t.is(await ask(t, name), '');
    await waitFor(reason, () => srv.log().includes(`${reason}, client: 127.0.0.1, server: 127.0.0.1:${srv.port(name)}`));
    await srv.waitForLog(new RegExp(`^${srv.port(name)} 500$`, 'm'), 'logs/access.log');
  }
});
