import test from 'ava';
import { errorOf } from './api-client.js';
import { parseArguments } from '../../core/ctl/arguments.js';
import { COMMANDS } from '../../core/ctl/commands.js';
import { startNode } from './node.js';

test('a node without cluster_changes shows itself alone, and has nothing to take over', async (t) => {
  const node = await startNode(t, {
    main: 'load_module modules/srv_cluster_module.so; node_name alone;',
    controlMain: 'load_module modules/srv_cluster_api_module.so;',
    workers: 1,
  });
  const { status, json } = await node.call('GET', '/cluster');
  t.is(status, 200);
  t.like(json, { name: '', node: 'alone', nodes: [{ name: 'alone', state: 'in_sync', lag: 0, drift: [] }], redis: undefined });
  t.is((json as { nodes: unknown[] }).nodes.length, 1);
  for (const [method, path] of [
    ['POST', '/cluster/resync'],
    ['GET', '/cluster/versions/1'],
  ] as const) {
    const call = await node.call(method, path);
    t.is(call.status, 409);
    t.is(errorOf(call).code, 'NotClustered');
  }
  t.is(errorOf(await node.call('GET', '/cluster/versions/x')).code, 'InvalidField');
  const added = await node.upstreams('POST', '/demo/servers/', { server: '10.0.0.1' }, { prefer: 'wait=5' });
  t.is(added.status, 201);
  t.false('cluster' in (added.json as object));
  const { nodes } = (await node.upstreams('GET', '/demo?nodes=all')).json as { nodes: Record<string, { peers: unknown[] }> };
  t.is(nodes['alone']?.peers.length, 3);
});

test('srvctl: a command of two words is found before the one of its first word', (t) => {
  t.is(parseArguments(['cluster'], COMMANDS).command?.words, 'cluster');
  const { command, args } = parseArguments(['cluster', 'wait', '812', '--within', '5'], COMMANDS);
  t.is(command?.words, 'cluster wait');
  t.like(
    command?.call(args, () => ''),
    { method: 'GET', path: '/v1/cluster/versions/812' },
  );
});
