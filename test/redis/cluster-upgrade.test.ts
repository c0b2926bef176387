/** A rolling upgrade of nodes with one configuration. */
import type { ExecutionContext } from 'ava';
import { startNode, upstreams, type Node } from '../control/node.js';
import { RedisServer, testRedis } from '../harness/redis.js';
import { waitFor } from '../harness/wait.js';
import { apiReady, endWithTest, upgrade } from '../upgrade/replaced.js';

async function node(t: ExecutionContext, name: string, { port }: RedisServer): Promise<Node> {
  const main = `load_module modules/srv_redis_module.js; load_module modules/srv_cluster_module.so; node_name ${name}; cluster_name shop;
    redis main { url redis://127.0.0.1:${port}; } cluster_changes redis main;`;
  const controlMain = 'load_module modules/srv_cluster_api_module.so;';
  const started = await startNode(t, { main, controlMain, workers: 1, http: upstreams('demo'), server: 'return 200 hello;' });
  endWithTest(t, started.srv);
  return started;
}

const listed = async (one: Node): Promise<string> => JSON.stringify((await one.members()).map(({ id, server }) => [id, server]));

testRedis('redis-server: three nodes are upgraded one after the other, under changes and traffic, and lose nothing', async (t) => {
  t.timeout(120_000);
  const server = await RedisServer.start(t);
  const nodes = [await node(t, 'a', server), await node(t, 'b', server), await node(t, 'c', server)];
  const [made, broken]: [string[], string[]] = [[], []];
  const end = new AbortController();
  const changing = nodes.map(async (one, at) => {
    for (let n = 1; !end.signal.aborted; n++) {
      const member = `10.${at}.0.${n}:80`;
      const { status, body } = await one.upstreams('POST', '/demo/servers/', { server: member, down: true });
      if (status === 201) made.push(member);
      else if (status !== 503 && status !== 409) broken.push(`${status} ${body}`);
      if ((await one.web()).body !== 'hello') broken.push('traffic');
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
  for (const one of nodes) {
    await upgrade(one.srv);
    await apiReady(one);
    const count = made.length;
    await waitFor('changes', () => made.length > count + 6);
  }
  end.abort();
  await Promise.all(changing);
  const [first] = nodes as [Node];
  await waitFor('the same members', async () => new Set(await Promise.all(nodes.map(listed))).size === 1);
  const members = new Set((await first.members()).map(({ server: name }) => name));
  t.deepEqual(
    made.filter((member) => !members.has(member)),
    [],
  );
  t.deepEqual(broken, []);
  const view = (await first.call('GET', '/cluster')).json as { version: number; nodes: { state: string; version: number }[] };
  t.deepEqual(
    view.nodes.map(({ state, version }) => [state, version]),
    Array.from({ length: 3 }, () => ['in_sync', view.version]),
  );
  t.log(`${made.length} changes`);
});
