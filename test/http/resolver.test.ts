import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { check } from '../harness/check.js';
import { connectRaw, exchange, get } from '../harness/client.js';
import { dnsServer, type DnsServer } from '../harness/dns-server.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** Listens on every loopback address; its response is the one that it was reached at. */
async function everywhere(scope: Scope): Promise<number> {
  const server = createServer((request, response) => response.end(request.socket.localAddress));
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  scope.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

interface Site {
  readonly srv: Srv;
  readonly dns: DnsServer;
  readonly other: DnsServer;
  readonly port: number;
  readonly ask: (location: string, name: string, server?: string) => Promise<string>;
}

const site = shared(async (scope): Promise<Site> => {
  const [dns, other, port] = [await dnsServer(scope), await dnsServer(scope), await everywhere(scope)];
  const srv = await startSrv(
    scope,
    `load_module modules/srv_http_proxy_connect_module.so;
    events {}
    http {
      upstream block { server 127.0.0.8:${port}; }
      server {
        listen 127.0.0.1:%%PORT_web%%;
        resolver 127.0.0.1:${dns.port} ipv6=off;
        location / { proxy_pass http://$arg_to:${port}; }
        location /hasty/ { resolver_timeout 300ms; proxy_pass http://$arg_to:${port}; }
        location /block { proxy_pass http://$arg_to; }
        location /own/ {
          resolver 127.0.0.1:${other.port} ipv6=off valid=1h;
          proxy_pass http://$arg_to:${port};
          location /own/inner/ { proxy_pass http://$arg_to:${port}/; }
        }
        location /unknown/ { resolver nosuch.invalid:5353 ipv6=off; proxy_pass http://$arg_to:${port}; }
        location /both/ { resolver 127.0.0.1:${dns.port} ipv4=on; proxy_pass http://$arg_to:${port}; }
      }
      server {
        listen 127.0.0.1:%%PORT_none%%;
        location / { proxy_pass http://$arg_to:${port}; }
        location /constant { proxy_pass http://localhost:${port}; }
      }
      server {
        listen 127.0.0.1:%%PORT_connect%%;
        resolver 127.0.0.1:${dns.port};
        proxy_connect;
        proxy_connect_allow all;
        proxy_connect_destination allow 127.0.0.0/8;
      }
    }`,
  );
  const ask = async (location: string, name: string, server = 'web'): Promise<string> => {
    const { status, body } = await get(srv.port(server), `${location}?to=${name}`);
    return status === 200 ? body : String(status);
  };
  return { srv, dns, other, port, ask };
});

test('all addresses of a name get requests, in turn', async (t) => {
  const { dns, ask } = await site();
  const addresses = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];
  dns.a('three.test', addresses);
  const bodies: string[] = [];
  for (let i = 0; i < 6; i++) bodies.push(await ask('/', 'three.test'));
  t.deepEqual(bodies.toSorted(), [...addresses, ...addresses].toSorted());
  t.is(dns.count('three.test'), 1);
});

test('a name with other addresses, once its time is over', async (t) => {
  const { dns, ask } = await site();
  dns.a('moved.test', ['127.0.0.1'], 1);
  t.is(await ask('/', 'moved.test'), '127.0.0.1');
  dns.a('moved.test', ['127.0.0.5'], 1);
  await waitFor('the other address', async () => (await ask('/', 'moved.test')) === '127.0.0.5');
});

test('names that cannot be resolved', async (t) => {
  const { srv, dns, ask } = await site();
  dns.a('empty.test', []);
  dns.fail('failing.test', 'servfail');
  dns.fail('refused.test', 'refused');
  dns.fail('silent.test', 'silent');
  const reasons = {
    'unknown.test': '3: Host not found',
    'empty.test': '3: Host not found',
    'failing.test': '2: Server failure',
    'refused.test': '5: Operation refused',
    'silent.test': '110: Operation timed out',
    'a..b': '3: Host not found',
  };
  for (const [name, reason] of Object.entries(reasons)) {
    t.is(await ask(name === 'silent.test' ? '/hasty/' : '/', name), '502', name);
    const text = `${name} could not be resolved (${reason}), client: 127.0.0.1, server: `;
    await waitFor(text, () => srv.log().includes(text));
  }
});

test('without a resolver names cannot be resolved, and others need none', async (t) => {
  const { srv, port, ask } = await site();
  t.is(await ask('/', 'three.test', 'none'), '502');
  await srv.waitForLog(/\[error\] .*no resolver defined to resolve three\.test, client: 127\.0\.0\.1/);
  t.is(await ask('/', '127.0.0.7', 'none'), '127.0.0.7');
  t.is(await ask('/', 'localhost', 'none'), '127.0.0.1', 'the configuration has a target of this name');
  t.is(await ask('/block', 'block'), '127.0.0.8');
  t.is(await ask('/block', `127.0.0.9:${port}`), '127.0.0.9');
});

test('a name server that cannot be found by its name is named, once', async (t) => {
  const { srv } = await site();
  for (const name of ['four.test', 'five.test']) {
    t.is((await get(srv.port('web'), `/unknown/?to=${name}`)).status, 502);
    await srv.waitForLog(new RegExp(`${name} could not be resolved`));
  }
  t.is(srv.log().match(/\[error\] .*host not found in resolver "nosuch\.invalid"/g)?.length, 1);
});

test('a location with a resolver of its own, which the locations in it inherit', async (t) => {
  const { dns, other, ask } = await site();
  dns.a('two.test', ['127.0.0.1']);
  other.a('two.test', ['127.0.0.2']);
  t.is(await ask('/', 'two.test'), '127.0.0.1');
  t.is(await ask('/own/', 'two.test'), '127.0.0.2');
  t.is(await ask('/own/inner/', 'two.test'), '127.0.0.2');
  t.is(other.count('two.test'), 1);
});

test('one query for any number of requests', async (t) => {
  const { dns, ask } = await site();
  dns.a('many.test', ['127.0.0.1']);
  dns.delay = 50;
  const bodies = await Promise.all(Array.from({ length: 100 }, () => ask('/', 'many.test')));
  dns.delay = 0;
  t.deepEqual([...new Set(bodies)], ['127.0.0.1']);
  t.is(dns.count('many.test'), 1);
});

test('both families are looked up; one of them is enough', async (t) => {
  const { dns, ask } = await site();
  dns.a('both.test', ['127.0.0.1']);
  t.is(await ask('/both/', 'both.test'), '127.0.0.1');
  t.deepEqual([dns.count('both.test', 'A'), dns.count('both.test', 'AAAA')], [1, 1]);
});

test('a client that leaves while a name is looked up', async (t) => {
  const { srv, dns, ask } = await site();
  dns.a('left.test', ['127.0.0.6']);
  dns.fail('left.test', 'silent');
  const client = await connectRaw(t, srv.port('web'));
  client.send('GET /hasty/?to=left.test HTTP/1.1\r\nHost: a\r\n\r\n');
  await waitFor('the query', () => dns.count('left.test') > 0);
  client.socket.destroy();
  dns.heal('left.test');
  await waitFor('an address', async () => (await ask('/hasty/', 'left.test')) === '127.0.0.6');
  t.is(await ask('/', 'left.test'), '127.0.0.6');
});

test('CONNECT requests ask the resolver too', async (t) => {
  const { srv, dns, port } = await site();
  dns.a('tunnel.test', ['127.0.0.4']);
  const client = await connectRaw(t, srv.port('connect'));
  client.send(`CONNECT tunnel.test:${port} HTTP/1.1\r\nHost: a\r\n\r\n`);
  await client.receive(/^HTTP\/1.1 200 /);
  client.send('GET / HTTP/1.0\r\n\r\n');
  t.regex(await client.receiveAll(), /127\.0\.0\.4$/);
  const other = await exchange(t, srv.port('connect'), `CONNECT localhost.test:${port} HTTP/1.1\r\nHost: a\r\n\r\n`);
  t.regex(other, /^HTTP\/1.1 502 /);
  await srv.waitForLog(/proxy_connect: localhost\.test could not be resolved \(3: Host not found\)/);
});

test('what a resolver line may say', async (t) => {
  const verdict = async (lines: readonly string[]): Promise<string> => {
    const servers = lines.map((line, at) => `server { listen 127.0.0.1:%%PORT_web%%; server_name s${at}; ${line} }`);
    return (await check(t, `events {} http { ${servers.join('\n')} }`)).stderr;
  };
  const good = [
    'resolver 127.0.0.1; resolver_timeout 5s;',
    'resolver 127.0.0.1:5353 [::1] [::1]:53;',
    'resolver dns.example;',
    'resolver 127.0.0.1 valid=30s ipv4=off status_zone=z nxdomain_grace=1m;',
  ];
  t.regex(await verdict(good), /test is successful/);
  const bad = {
    'resolver 127.0.0.1 ipv6=maybe;': 'invalid parameter: ipv6=maybe',
    'resolver 127.0.0.1 valid=long;': 'invalid parameter: valid=long',
    'resolver 127.0.0.1:99999;': 'invalid port in resolver "127.0.0.1:99999"',
    'resolver 127.0.0.1; resolver 127.0.0.1;': '"resolver" directive is duplicate',
    'resolver_timeout soon;': '"resolver_timeout" directive invalid value',
  };
  const contradictory = {
    'resolver valid=30s;': 'no name servers defined',
    'resolver 127.0.0.1 ipv4=off ipv6=off;': '"ipv4" and "ipv6" cannot both be "off"',
  };
  for (const lines of [bad, contradictory]) {
    const errors = await verdict(Object.keys(lines));
    for (const message of Object.values(lines)) t.true(errors.includes(`[emerg] ${message}`), `${message}\n${errors}`);
  }
});
