/** docs/faults.md, "Parts of srv": helpers that hang. */
import test from 'ava';
import { waitFor } from '../harness/wait.js';
import { startNode } from './node.js';

const OPTIONS = { server: 'location / { return 200 "fine"; }', allowCrashes: true };

test('a broker that hangs makes a call a 503 in time; it is killed, and the API comes back', async (t) => {
  const node = await startNode(t, OPTIONS);
  const broker = node.helper('broker');
  process.kill(broker, 'SIGSTOP');
  const { status } = await node.upstreams('POST', '/demo/servers/', { server: '10.0.0.1' });
  t.is(status, 503);
  t.is(node.helper('broker'), broker, 'long before the broker is found to hang');
  t.is((await node.web()).body, 'fine');
  await waitFor('another broker', () => node.helper('broker') !== broker, 40_000);
  await node.ready();
  t.is((await node.upstreams('POST', '/demo/servers/', { server: '10.0.0.2' })).status, 201);
});

test('a control plane that hangs is killed: its connection is reset, traffic goes on, and the API comes back', async (t) => {
  const node = await startNode(t, OPTIONS);
  const ctrl = node.helper('ctrl');
  process.kill(ctrl, 'SIGSTOP');
  const call = node.upstreams('GET', '/').then(
    () => 'response',
    (error: NodeJS.ErrnoException) => error.code,
  );
  t.is((await node.web()).body, 'fine');
  t.is(await call, 'ECONNRESET');
  await waitFor('another control plane', () => node.helper('ctrl') !== ctrl, 40_000);
  await node.ready();
  t.is((await node.members()).length, 2);
});
