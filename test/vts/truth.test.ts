import test from 'ava';
import { waitFor } from '../harness/wait.js';
import { startNode } from '../control/node.js';
import { requestsOfAllKinds } from './request-kinds.js';
import { allTransports } from './transport-kinds.js';

/** Rounds of all kinds of requests, about 16 in each, and a part as many of all transports. A million requests and sessions: 54000. */
const ROUNDS = Number(process.env['SRV_STATISTICS_ROUNDS'] ?? 30);
const TRANSPORT_ROUNDS = Math.max(Math.ceil(ROUNDS / 8), 8);

test('each figure is what clients and members have counted, while requests of all kinds come at once', async (t) => {
  t.timeout(3_600_000);
  const scripts = [await requestsOfAllKinds(t, ROUNDS), await allTransports(t, TRANSPORT_ROUNDS)];
  const lines = (part: 'http' | 'server' | 'stream'): string => scripts.map((script) => script[part] ?? '').join('\n');
  const node = await startNode(t, {
    main: ['http_vts', 'stream_vts', 'http_status_zone'].map((name) => `load_module modules/srv_${name}_module.so;`).join('\n'),
    controlMain: 'load_module modules/srv_http_vts_api_module.so;',
    files: Object.assign({}, ...scripts.map(({ files }) => files)) as Record<string, string>,
    http: `vts on; keepalive_requests 100000000; ${lines('http')}`,
    server: lines('server'),
    stream: `vts on; ${lines('stream')}`,
  });
  const statistics = async (): Promise<object> => (await node.call('GET', '/vts')).json as object;
  await Promise.all(scripts.map(({ run }) => run(node)));
  const all = await waitFor('the end of all requests and sessions', async () => {
    const now = await statistics();
    return scripts.every(({ isOver }) => isOver(now, node)) ? now : undefined;
  });
  let counted = 0;
  for (const { verify } of scripts) counted += await verify(all, node);
  t.log(`${counted} requests and sessions`);
});
