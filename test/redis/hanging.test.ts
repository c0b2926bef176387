/** A whole node whose Redis hangs, and settings of its pairs that a reload changes. */
import { writeFileSync } from 'node:fs';
import { parseArguments } from '../../core/ctl/arguments.js';
import { COMMANDS } from '../../core/ctl/commands.js';
import { nodeConf, startNode, type Node, type NodeOptions } from '../control/node.js';
import type { JsonResponse } from '../harness/client.js';
import { RedisServer, testRedis } from '../harness/redis.js';
import { waitFor } from '../harness/wait.js';

const SERVER = `location / { return 200 "[$kv_http_color]"; }`;

const options = (port: number, cluster = 'shop', prefix = 'srv'): NodeOptions => ({
  main: `load_module modules/srv_redis_module.js; load_module modules/srv_cluster_module.js; node_name a; cluster_name ${cluster};
      redis main { url redis://127.0.0.1:${port}; prefix ${prefix}; } cluster_changes redis main;`,
  controlMain: 'load_module modules/srv_cluster_api_module.js; load_module modules/srv_http_transactions_api_module.js;',
  http: 'dyn_kv_conf conf/kv.conf; upstream demo { zone demo 64k; server 127.0.0.1:1; }',
  server: SERVER,
  workers: 1,
  files: { 'conf/kv.conf': 'store redis main;\n' },
});

const codeOf = ({ json }: JsonResponse): unknown => (json as { error?: { code?: string } }).error?.code;
const textOf = ({ json }: JsonResponse): string => (json as { error?: { text?: string } }).error?.text ?? '';

/** As srvctl shows the nodes. */
function shown(view: unknown): string {
  const { command, args } = parseArguments(['cluster'], COMMANDS);
  return command?.show(view, args).join('\n') ?? '';
}

async function reload({ srv }: Node, kv: string): Promise<void> {
  const count = (): number => [...srv.log().matchAll(/ reconfigured\n/g)].length;
  const before = count();
  writeFileSync(`${srv.prefix}/conf/kv.conf`, kv);
  srv.signal('SIGHUP');
  await waitFor('the reload', () => count() > before);
}

testRedis('redis-server that hangs: every call has a clear outcome, and a reload lets the node write alone', async (t) => {
  const server = await RedisServer.start(t);
  const a = await startNode(t, options(server.port));
  const put = (value: string) => a.call('PUT', '/kv/keys/color', { value });
  const stored = () => server.cli('HGET', '{srv:shop}:pairs', 'color');
  await waitFor('writes', async () => (await put('red')).status === 200);

  server.signal('SIGSTOP');
  const add = a.upstreams('POST', '/demo/servers/', { server: '127.0.0.1:2' });
  const all = { calls: [{ method: 'POST', path: '/v1/upstream_api/http/upstreams/demo/servers/', body: { server: '127.0.0.1:3' } }] };
  const calls = await Promise.all([put('blue'), put('green'), add, a.call('POST', '/transactions', all)]);
  for (const call of calls)
    t.like({ status: call.status, code: codeOf(call) }, { status: 503, code: 'StoreUnavailable' }, JSON.stringify(call.json));
  t.true(calls.some((call) => /which may have been made: read it when Redis is back/.test(textOf(call))));
  t.is((await a.web()).body, '[red]');
  server.signal('SIGCONT');
  await waitFor('writes', async () => (await put('black')).status === 200);

  await reload(a, 'store redis main;\nredis_write local;\nmax_key 8;\n');
  t.is((await a.call('PUT', '/kv/keys/ninebytes', { value: '' })).status, 413);
  server.signal('SIGSTOP');
  t.is((await put('white')).status, 200);
  t.is((await a.web()).body, '[white]');
  const view = (await a.call('GET', '/cluster')).json;
  t.like(view, { nodes: [{ name: 'a', pairs: { local: 1 } }] });
  t.regex(shown(view), /behind \(1 local\) .*no reply within 1000 ms/);
  server.signal('SIGCONT');
  await waitFor('the merge', async () => /:white\r\n/.test(await stored()));
  t.notRegex(a.srv.log(), /is lost/);

  await reload(a, 'store redis main;\nredis_wait 1 50ms;\n');
  const waited = await put('grey');
  t.is(waited.status, 503);
  t.regex(textOf(waited), /the write is made, but 0 of 1 replicas have it/);
  await reload(a, 'store embedded;\ndata_folder data/kv;\n');
  t.regex(
    a.srv.log(),
    /\[warn\] .*key-value: "store embedded;" takes effect when srv is started again; until then it is "store redis main;"/,
  );
  t.regex(a.srv.log(), /key-value: "data_folder .*data\/kv;" takes effect when srv is started again/);
  await a.srv.configure(nodeConf(options(server.port, 'other', 'mine')));
  await reload(a, 'store redis main;\n');
  t.regex(a.srv.log(), /"cluster_name other;" takes effect when srv is started again; until then it is "shop"/);
  t.regex(a.srv.log(), /"prefix mine;" of redis "main" takes effect when srv is started again; until then it is "srv"/);
  t.is((await put('pink')).status, 200);
  t.regex(await stored(), /:pink\r\n/);
  await a.srv.stop();
  t.notRegex(a.srv.log(), /srv is ending/);
});
