import test from 'ava';
import { run } from '../../core/ctl/main.js';
import { get } from '../harness/client.js';
import { challenged, jsonChallenge, post, solve, SOLUTION } from '../http/captcha-client.js';
import { errorOf } from './api-client.js';
import { sharedNode, type Node } from './node.js';

const shared = sharedNode({
  main: 'load_module modules/srv_http_captcha_module.so; load_module modules/srv_http_dyn_captcha_module.so;',
  controlMain: 'load_module modules/srv_http_captcha_api_module.so; load_module modules/srv_http_dyn_captcha_module.so;',
  http: 'captcha_zone $arg_k zone=one:1m; captcha_zone $arg_k zone=two:64k;',
  server: `location /dynamic { stub_status; }
    location /ctl { stub_status; }
    location /figures { captcha on; captcha_limit_rate two 2; stub_status; }`,
});

function put(node: Node, fields: object) {
  const servers = [{ listens: [`127.0.0.1:${node.srv.port('web')}`], locations: [{ location: '/dynamic', ...fields }] }];
  return node.call('PUT', '/config/http_dyn_captcha', { servers });
}

async function shown(node: Node): Promise<unknown> {
  type Shown = { readonly location: string };
  const { servers } = (await node.call('GET', '/config/http_dyn_captcha')).json as { servers: { locations?: Shown[] }[] };
  return servers.flatMap(({ locations = [] }) => locations).find(({ location }) => location === '/dynamic');
}

test('http_dyn_captcha: rate, mode, time, on and off', async (t) => {
  const node = await shared();
  const port = node.srv.port('web');
  const fields = { captcha: true, captcha_limit_rate: { zone: 'one', rate: 2, verified: 50 }, captcha_mode: 'pow', captcha_expire: '300s' };
  const set = await put(node, fields);
  t.is(set.status, 200, set.body);
  t.deepEqual(await shown(node), { location: '/dynamic', ...fields });
  t.is((await jsonChallenge(port, '/dynamic?k=a')).mode, 'pow');
  t.is((await put(node, { captcha_mode: 'image', captcha_limit_rate: { zone: 'one', rate: 40 } })).status, 200);
  const responses = await Promise.all(Array.from({ length: 41 }, () => get(port, '/dynamic?k=b')));
  t.is(responses.filter(({ status }) => status === 429).length, 1);
  t.is((await jsonChallenge(port, '/dynamic?k=b')).mode, 'image');
  t.is((await put(node, { captcha: false })).status, 200);
  t.is((await get(port, '/dynamic?k=b')).status, 200);
  t.is((await put(node, { captcha: true })).status, 200);
  await challenged(port, '/dynamic?k=b');
  for (const name of Object.keys(fields)) t.is((await put(node, { captcha: null, [name]: null })).status, 200, name);
  t.is(await shown(node), undefined);
});

test('http_dyn_captcha: invalid values are rejected with their place', async (t) => {
  const node = await shared();
  const zone = errorOf(await put(node, { captcha: true, captcha_limit_rate: { zone: 'none; }', rate: 2 } }));
  t.is(zone.code, 'ConfigError');
  t.regex(JSON.stringify(zone.details), /captcha_limit_rate/);
  t.is(errorOf(await put(node, { captcha: true, captcha_limit_rate: null })).code, 'ConfigError');
  for (const fields of [
    { captcha_mode: 'none' },
    { captcha: 'yes' },
    { captcha_expire: 'x' },
    { captcha_limit_rate: { zone: 'one', rate: 0 } },
  ])
    t.is(errorOf(await put(node, fields)).code, 'InvalidField', JSON.stringify(fields));
});

test('/v1/captcha: figures of each zone', async (t) => {
  const node = await shared();
  const port = node.srv.port('web');
  const { token, work } = await jsonChallenge(port, '/figures?k=figures');
  await post(port, SOLUTION, { token, solution: 'WRONG' });
  const right = await post(port, SOLUTION, { token, work: solve(work!) });
  await post(port, SOLUTION, { token, work: 'again' });
  const cookie = right.headers['set-cookie']![0]!.split(';')[0]!;
  await Promise.all(Array.from({ length: 5 }, () => get(port, '/figures?k=figures', { headers: { cookie } })));
  const { status, json } = await node.call('GET', '/captcha');
  t.is(status, 200);
  const zones = json as { zone: string; verified: number }[];
  t.deepEqual(
    zones.map(({ zone }) => zone),
    ['one', 'two'],
  );
  t.true(zones[1]!.verified >= 3);
  t.like(zones[1], { size: 65_536, keys: 2, evicted: 0, challenged: 1, right: 1, wrong: 1, rejected: 1 });
});

test('srvctl captcha: figures of zones, settings of a location', async (t) => {
  const node = await shared();
  const port = node.srv.port('web');
  const ctl = async (...argv: readonly string[]): Promise<string> => {
    let output = '';
    const print = (text: string): void => void (output += text);
    const env = { HOME: '/nonexistent', SRVCTL_SERVER: `http://127.0.0.1:${node.srv.port('api')}/api` };
    const code = await run(argv, { env, version: '0', color: false, stdout: print, stderr: print });
    return `${code} ${output}`;
  };
  const place = [`127.0.0.1:${port}`, '/ctl'];
  t.regex(await ctl('captcha', 'list'), /^0 ZONE +KEYS +EVICTED .*\none +.*\ntwo /);
  t.is(await ctl('captcha', 'set', ...place, '--on', '--zone', 'one', '--rate', '2', '--verified', '30', '--mode', 'image'), '0 ');
  t.is((await jsonChallenge(port, '/ctl?k=ctl')).mode, 'image');
  t.is(await ctl('captcha', 'set', ...place, '--off'), '0 ');
  t.is((await get(port, '/ctl?k=ctl')).status, 200);
  t.is(await ctl('captcha', 'set', ...place, '--on'), '0 ');
  await challenged(port, '/ctl?k=ctl');
  t.is(await ctl('captcha', 'reset', ...place), '0 ');
  t.is((await get(port, '/ctl?k=ctl')).status, 200);
  t.regex(await ctl('captcha', 'set', ...place, '--zone', 'one'), /^2 .*--zone and --rate/);
  t.regex(await ctl('captcha', 'set', ...place, '--on', '--off'), /^2 .*contradict/);
  t.regex(await ctl('captcha', 'set', ...place), /^2 .*nothing to change/);
  t.regex(await ctl('captcha', 'set', place[0]!, '/none', '--off'), /^3 /);
});
