import test from 'ava';
import { exchange, get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

test('the server is chosen by its names as in nginx', async (t) => {
  const srv = await startSrv(
    t,
    `events {}
    http {
      server { listen 127.0.0.1:%%PORT_web%%; server_name first.example; return 200 first; }
      server { listen 127.0.0.1:%%PORT_web%% default_server; server_name default.example; return 200 default; }
      server { listen 127.0.0.1:%%PORT_web%%; server_name exact.a.example Upper.Example; return 200 exact; }
      server { listen 127.0.0.1:%%PORT_web%%; server_name *.a.example; return 200 leading; }
      server { listen 127.0.0.1:%%PORT_web%%; server_name *.long.a.example; return 200 longer; }
      server { listen 127.0.0.1:%%PORT_web%%; server_name mail.* www.mail.*; return 200 trailing; }
      server { listen 127.0.0.1:%%PORT_web%%; server_name .dot.example; return 200 "dot $server_name"; }
      server { listen 127.0.0.1:%%PORT_web%%; server_name ~^(?<user>\\w+)\\.re\\.example$; return 200 "re $user"; }
      server { listen 127.0.0.1:%%PORT_web%%; server_name ~^.*re\\.example$; return 200 "re-second"; }
      server { listen 127.0.0.1:%%PORT_web%%; server_name ""; return 200 empty; }
      server { listen 127.0.0.1:%%PORT_web%%; server_name 127.0.0.1; return 200 address; }
      server { listen 127.0.0.1:%%PORT_first%%; server_name a; return 200 "$server_name $host"; }
      server { listen 127.0.0.1:%%PORT_first%%; server_name b; return 200 "b"; }
    }`,
  );
  const port = srv.port('web');
  const cases: Readonly<Record<string, string>> = {
    'first.example': 'first',
    'default.example': 'default',
    'nobody.example': 'default',
    'exact.a.example': 'exact',
    'EXACT.A.EXAMPLE': 'exact',
    'upper.example': 'exact',
    'exact.a.example.': 'exact',
    'exact.a.example:8080': 'exact',
    'x.a.example': 'leading',
    'y.x.a.example': 'leading',
    'a.example': 'default',
    'xa.example': 'default',
    'x.long.a.example': 'longer',
    'long.a.example': 'leading',
    'mail.com': 'trailing',
    'mail.co.uk': 'trailing',
    'mail.a.example': 'leading',
    mail: 'default',
    'dot.example': 'dot dot.example',
    'x.dot.example': 'dot dot.example',
    'me.re.example': 're me',
    'not-me.re.example': 're-second',
    '127.0.0.1': 'address',
    '[::1]': 'default',
  };
  for (const [host, server] of Object.entries(cases)) t.is((await get(port, '/', { headers: { host } })).body, server, host);
  t.regex(await exchange(t, port, 'GET / HTTP/1.0\r\n\r\n'), /empty$/, 'no Host at all');
  t.regex(
    await exchange(t, port, 'GET http://exact.a.example/ HTTP/1.1\r\nHost: first.example\r\nConnection: close\r\n\r\n'),
    /exact$/,
    'the target says more than the field',
  );
  t.is((await get(srv.port('first'), '/', { headers: { host: 'c' } })).body, 'a c', 'the first one is the default');
});

test('listen addresses keep servers apart', async (t) => {
  const srv = await startSrv(
    t,
    `events {}
    http {
      server { listen 127.0.0.1:%%PORT_a%%; listen 127.0.0.1:%%PORT_b%%; server_name both; return 200 both; }
      server { listen 127.0.0.1:%%PORT_b%% default_server; server_name b; return 200 b; }
    }`,
  );
  const ask = async (port: string, host: string): Promise<string> => (await get(srv.port(port), '/', { headers: { host } })).body;
  t.is(await ask('a', 'b'), 'both');
  t.is(await ask('b', 'b'), 'b');
  t.is(await ask('b', 'both'), 'both');
  t.is(await ask('b', 'c'), 'b');
});

test('a range of ports is an address for each of them', async (t) => {
  const srv = await startSrv(
    t,
    `events {} http {
      server { listen 127.0.0.1:%%PORT_a%%-%%PORT_a%%; server_name first; return 200 "$server_port"; }
      server { listen 127.0.0.1:%%PORT_a%%; server_name second; return 200 second; }
    }`,
  );
  t.is((await get(srv.port('a'), '/')).body, String(srv.port('a')));
  t.is((await get(srv.port('a'), '/', { headers: { host: 'second' } })).body, 'second');
});
