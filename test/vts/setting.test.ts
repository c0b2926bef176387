import test from 'ava';
import { get } from '../harness/client.js';
import { shared } from '../harness/scope.js';
import { waitFor } from '../harness/wait.js';
import { startNode } from '../control/node.js';

interface Figures {
  readonly requests: number;
  readonly keys: Readonly<Record<string, { readonly requests: number }>>;
}

const SETTING = 'load_module modules/srv_http_dyn_vts_module.so;';
const node = shared((scope) =>
  startNode(scope, {
    main: `load_module modules/srv_http_vts_module.so; load_module modules/srv_http_config_module.so; ${SETTING}`,
    controlMain: `load_module modules/srv_http_vts_api_module.so; load_module modules/srv_http_config_api_module.so; ${SETTING}`,
    http: 'vts off;',
    server: 'server_name a; location / { return 200 "$vts_request_counter $vts_2xx_counter $vts_out_bytes"; }',
  }),
);

test.serial('http_vts turns statistics on and off, and sets groups and their number', async (t) => {
  const one = await node();
  const server = { listens: [`127.0.0.1:${one.srv.port('web')}`], serverNames: ['a'] };
  const put = (body: object) => one.call('PUT', '/config/http_vts', body);
  const read = async () =>
    (await one.call('GET', '/vts')).json as Partial<Record<'servers' | 'filters', Readonly<Record<string, Figures>>>>;
  await one.web();
  t.is((await read()).servers, undefined);
  t.is((await put({ servers: [{ ...server, vts: true, groups: [{ key: '$arg_key', group: 'kind' }] }] })).status, 200);
  t.is((await put({ vts_filter_max_node: 1 })).status, 200);
  const request = (key: string) => get(one.srv.port('web'), `/?key=${key}`);
  await request('x');
  // Another worker may have the next request, and count it first.
  await waitFor('the first group', async () => (await read()).filters?.['kind'] !== undefined);
  for (const key of ['y', 'x']) await request(key);
  const { filters } = await waitFor('the groups', async () => {
    const all = await read();
    return all.servers?.['a']?.requests === 3 && all;
  });
  t.deepEqual(
    Object.entries(filters!['kind']!.keys).map(([key, { requests }]) => [key, requests]),
    [
      ['other', 1],
      ['x', 2],
    ],
  );
  t.like((await one.call('GET', '/config/http_vts')).json, { vts: false, vts_filter_max_node: 1 });
  t.is((await put({ servers: [{ ...server, vts: false }] })).status, 200);
  await one.web();
  t.is((await read()).servers?.['a']?.requests, 3);
  t.is((await put({ servers: [{ ...server, groups: [{ key: '$no_such_variable' }] }] })).status, 400);
});

test.serial('variables have the figures of the server, over all workers', async (t) => {
  const one = await node();
  const server = { listens: [`127.0.0.1:${one.srv.port('web')}`], serverNames: ['a'] };
  t.is((await one.call('PUT', '/config/http_vts', { servers: [{ ...server, vts: true }] })).status, 200);
  const figures = async (): Promise<number[]> => (await one.web()).body.split(' ').map(Number);
  const [requests = 0, ok = 0, bytes = 0] = await waitFor('all requests', async () => {
    const found = await figures();
    return found[0]! >= 3 && found;
  });
  t.is(requests, ok);
  await waitFor('one more', async () => {
    const [more, , sent] = await figures();
    return more! > requests && sent! > bytes;
  });
});
