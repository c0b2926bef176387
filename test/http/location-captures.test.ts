import test from 'ava';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

test('captures of regular expressions are variables, by number and by name', async (t) => {
  const srv = await startSrv(
    t,
    `events {}
    http {
      log_format before "$lang";
      server {
        listen 127.0.0.1:%%PORT_web%%;
        server_name ~^(?<sub>\\w+)\\.example$;
        location ~ ^/(?<lang>de|en)/(.*)$ { return 200 "$lang $2 $sub"; }
        location ~ ^/p/(?P<python>\\w+) { return 200 "$python"; }
        location ~ ^/none/(x)?(y)?$ { return 200 "[$1][$2][$3]"; }
        location / { return 200 "$sub"; }
      }
    }`,
  );
  const ask = async (path: string): Promise<string> => (await get(srv.port('web'), path, { headers: { host: 'www.example' } })).body;
  t.is(await ask('/de/a/b'), 'de a/b www');
  t.is(await ask('/p/word'), 'word');
  t.is(await ask('/none/y'), '[][y][]', 'a group that took no part is empty');
  t.is(await ask('/'), 'www');
});

const withLocation = (location: string): string =>
  `events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { return 200 old; } ${location} } }`;

test('a reload brings new names', async (t) => {
  const srv = await startSrv(t, withLocation(''));
  await srv.configure(withLocation('location ~ ^/(?<fresh>new.*) { return 200 "$fresh"; }'));
  srv.signal('SIGHUP');
  for (;;) {
    const { body } = await get(srv.port('web'), '/new-one');
    if (body === 'new-one') break;
    t.is(body, 'old');
  }
  t.pass();
});

test('names of variables are the same in any case, those of groups as well', async (t) => {
  const srv = await startSrv(
    t,
    `events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%%;
        server_name ~^(?<Sub>\\w+)\\.example$;
        location ~ ^/a/(?<Item>\\w+) { return 200 "$item $ITEM $sub $URI $Http_X_Y $ARG_q $Cookie_C"; }
        location ~ ^/b/(?<item>\\w+)/\\k<item>$ { return 200 "$Item"; }
        location ~ ^/c/(?<args>\\w+)?$ { return 200 "$args"; }
      }
    }`,
  );
  const headers = { host: 'www.example', 'x-y': 'field', cookie: 'c=cookie' };
  const ask = async (path: string): Promise<string> => (await get(srv.port('web'), path, { headers })).body;
  t.is(await ask('/a/one?q=2'), 'one one www /a/one field 2 cookie');
  t.is(await ask('/b/two/two'), 'two');
  t.is(await ask('/c/three?q=2'), 'three', 'a group has the name of a variable that can be changed');
  t.is(await ask('/c/?q=2'), 'q=2', 'one that took no part changes nothing');
});
