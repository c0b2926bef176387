import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

/** Between the two clocks a second may pass. */
const near = (found: unknown, seconds: number): boolean => typeof found === 'number' && Math.abs(found - seconds) <= 1;

const START = Date.now();
const inHours = (hours: number): Date => new Date(START + hours * 3_600_000);

/** The time of day, as `expires @` has it. */
const timeOfDay = (at: Date): string => `${at.getHours()}h${at.getMinutes()}m${at.getSeconds()}s`;

test('expires', async (t) => {
  const backend = await httpBackend(t, (_, response) => {
    response.setHeader('cache-control', 'no-store');
    response.setHeader('expires', '0');
    response.setHeader('last-modified', inHours(-1).toUTCString());
    response.end('ok');
  });
  const srv = await startSrv(
    t,
    `events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%%;
        expires 1h;
        location /hour { return 200; }
        location /past { expires -1; return 200; }
        location /days { expires 30d; return 200; }
        location /max { expires max; return 200; }
        location /epoch { expires epoch; return 200; }
        location /off { expires off; return 200; }
        location /missing { return 404; }
        location /with { add_header Cache-Control private; return 200; }
        location /proxied { expires 10s; proxy_pass http://127.0.0.1:${backend.port}; }
        location /modified { expires modified +2h; proxy_pass http://127.0.0.1:${backend.port}; }
        location /stale { expires modified 1s; proxy_pass http://127.0.0.1:${backend.port}; }
        location /unmodified { expires modified 2h; return 200; }
        location /daily { expires @${timeOfDay(inHours(12))}; return 200; }
        location /tomorrow { expires @${timeOfDay(inHours(-1))}; return 200; }
        location /variable { expires $arg_e; return 200; }
        location /untouched { expires off; proxy_pass http://127.0.0.1:${backend.port}; }
      }
    }`,
  );
  /** Seconds from Date to Expires, or its text; and Cache-Control. */
  const ask = async (path: string): Promise<unknown[]> => {
    const { headers } = await get(srv.port('web'), path);
    const seconds = (Date.parse(headers.expires ?? '') - Date.parse(headers.date ?? '')) / 1000;
    return [Math.abs(seconds) < 1e8 ? seconds : headers.expires, headers['cache-control']];
  };
  const expires = async (path: string): Promise<unknown> => (await get(srv.port('web'), path)).headers.expires;
  const [hour, hourControl] = await ask('/hour');
  t.true(near(hour, 3600));
  t.is(hourControl, 'max-age=3600');
  const [past, pastControl] = await ask('/past');
  t.true(near(past, -1));
  t.is(pastControl, 'no-cache');
  t.is((await ask('/days'))[1], 'max-age=2592000');
  t.deepEqual(await ask('/max'), ['Thu, 31 Dec 2037 23:55:55 GMT', 'max-age=315360000']);
  t.deepEqual(await ask('/epoch'), ['Thu, 01 Jan 1970 00:00:01 GMT', 'no-cache']);
  t.deepEqual(await ask('/off'), [undefined, undefined]);
  t.deepEqual(await ask('/missing'), [undefined, undefined]);
  t.is((await ask('/with'))[1], 'max-age=3600, private');
  t.is((await ask('/proxied'))[1], 'max-age=10', 'instead of what the backend says');
  t.is(await expires('/modified'), inHours(1).toUTCString());
  t.is((await ask('/stale'))[1], 'no-cache');
  t.true(near((await ask('/unmodified'))[0], 7200));
  t.is(await expires('/daily'), inHours(12).toUTCString());
  t.is(await expires('/tomorrow'), inHours(23).toUTCString());
  t.is((await ask('/variable?e=10s'))[1], 'max-age=10');
  t.is((await ask('/variable?e=max'))[1], 'max-age=315360000');
  for (const none of ['off', '', 'foo', '@25h']) t.deepEqual(await ask(`/variable?e=${none}`), [undefined, undefined], none);
  t.deepEqual(await ask('/untouched'), ['0', 'no-store']);
});
