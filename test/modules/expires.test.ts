import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { shared } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';

/** Between the two clocks a second may pass. */
const near = (found: unknown, seconds: number): boolean => typeof found === 'number' && Math.abs(found - seconds) <= 1;

const START = Date.now();
const inHours = (hours: number): Date => new Date(START + hours * 3_600_000);

/** The time of day, as `expires @` has it. */
const timeOfDay = (at: Date): string => `${at.getHours()}h${at.getMinutes()}m${at.getSeconds()}s`;

const server = shared(async (scope) => {
  const backend = await httpBackend(scope, (_, response) => {
    response.setHeader('cache-control', 'no-store');
    response.setHeader('expires', '0');
    response.setHeader('last-modified', inHours(-1).toUTCString());
    response.end('ok');
  });
  return startSrv(
    scope,
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
        location /behind { expires modified $arg_e; return 200; }
        location /stale { expires modified 1s; proxy_pass http://127.0.0.1:${backend.port}; }
        location /unmodified { expires modified 2h; return 200; }
        location /daily { expires @${timeOfDay(inHours(12))}; return 200; }
        location /tomorrow { expires @${timeOfDay(inHours(-1))}; return 200; }
        location /variable { expires $arg_e; return 200; }
        location /untouched { expires off; proxy_pass http://127.0.0.1:${backend.port}; }
      }
    }`,
  );
});

/** Seconds from Date to Expires, or its text; and Cache-Control. */
async function ask(path: string): Promise<readonly [expires: unknown, control: unknown]> {
  const { headers } = await get((await server()).port('web'), path);
  const seconds = (Date.parse(headers.expires ?? '') - Date.parse(headers.date ?? '')) / 1000;
  return [Math.abs(seconds) < 1e8 ? seconds : headers.expires, headers['cache-control']];
}

for (const [what, path, seconds, control] of [
  ['a time, inherited', '/hour', 3600, 'max-age=3600'],
  ['a time in the past', '/past', -1, 'no-cache'],
  ['days', '/days', 2_592_000, 'max-age=2592000'],
  ['beside Cache-Control of add_header', '/with', 3600, 'max-age=3600, private'],
  ['instead of what the member says', '/proxied', 10, 'max-age=10'],
  ['modified without a Last-Modified', '/unmodified', 7200, 'max-age=7200'],
  ['a variable', '/variable?e=10s', 10, 'max-age=10'],
] as const) {
  test(`expires: ${what}`, async (t) => {
    const found = await ask(path);
    t.true(near(found[0], seconds), String(found[0]));
    t.is(found[1], control);
  });
}

const NOTHING = [undefined, undefined] as const;
const MAX = ['Thu, 31 Dec 2037 23:55:55 GMT', 'max-age=315360000'] as const;

for (const [what, path, expected] of [
  ['max', '/max', MAX],
  ['epoch', '/epoch', ['Thu, 01 Jan 1970 00:00:01 GMT', 'no-cache']],
  ['off', '/off', NOTHING],
  ['not of an error', '/missing', NOTHING],
  ['off leaves what the member says', '/untouched', ['0', 'no-store']],
  ['max of a variable', '/variable?e=max', MAX],
  ['off of a variable', '/variable?e=off', NOTHING],
  ['an empty variable', '/variable?e=', NOTHING],
  ['a variable with another text', '/variable?e=foo', NOTHING],
  ['a variable with a time that no day has', '/variable?e=@25h', NOTHING],
] as const) {
  test(`expires: ${what}`, async (t) => t.deepEqual(await ask(path), expected));
}

for (const [what, path, hours] of [
  ['a time after Last-Modified', '/modified', 1],
  ['a time of day', '/daily', 12],
  ['a time of day that is over', '/tomorrow', 23],
] as const) {
  test(`expires: ${what}`, async (t) => {
    t.is((await get((await server()).port('web'), path)).headers.expires, inHours(hours).toUTCString());
  });
}

test('expires: behind "modified" a variable gives a time only', async (t) => {
  t.is((await ask('/behind?e=1h'))[1], 'max-age=3600');
  for (const value of ['epoch', 'max', '@1h']) t.is((await ask(`/behind?e=${value}`))[1], undefined, value);
});

test('expires: a time after Last-Modified that is over', async (t) => t.is((await ask('/stale'))[1], 'no-cache'));
