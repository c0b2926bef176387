/** Members that are changed by several clients at once: their changes take effect together. */
import test from 'ava';
import { startNode, upstreams } from './node.js';

const WRITERS = 3;
const STEPS = 30;

test('an address that a member has left is free at once, whatever others change meanwhile', async (t) => {
  const node = await startNode(t, { http: upstreams('demo'), workers: 1 });
  const write = async (writer: number): Promise<void> => {
    const [one, other] = [`127.0.0.1:${2000 + writer}`, `127.0.0.1:${3000 + writer}`];
    for (let step = 0; step < STEPS; step++) {
      const added = await node.upstreams('POST', '/demo/servers', { server: one });
      t.is(added.status, 201, added.body);
      const { id } = added.json as { id: number };
      t.is((await node.upstreams('PATCH', `/demo/servers/${id}`, { server: other })).status, 200);
      t.is((await node.upstreams('PATCH', `/demo/servers/${id}`, { server: one })).status, 200);
      t.is((await node.upstreams('DELETE', `/demo/servers/${id}`)).status, 200);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
});
