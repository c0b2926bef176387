import test from 'ava';
import { get } from '../harness/client.js';
import { waitFor } from '../harness/wait.js';
import { startSrv } from '../harness/srv.js';
import { httpBackend } from '../harness/backends.js';
import { nodeConf, startNode } from '../control/node.js';
import { startCollector } from './collector.js';

interface State {
  readonly endpoint: string | null;
  readonly exported: number;
  readonly dropped: { readonly queue_full: number; readonly failed: number };
  readonly waiting: number;
  readonly lastFailure: { readonly error: string } | null;
}

const options = (endpoint: string) => ({
  workers: 2,
  main: 'load_module modules/srv_http_telemetry_module.so;',
  controlMain: 'load_module modules/srv_http_telemetry_api_module.so;',
  http: `otel_exporter { endpoint ${endpoint}; interval 50ms; batch_size 5; batch_count 2; }`,
  server: 'telemetry on; location / { return 200 fine; }',
});

test('what was exported and dropped is shown, and no span goes to the control plane', async (t) => {
  const collector = await startCollector(t);
  const node = await startNode(t, options('http://127.0.0.1:%%PORT_api%%'));
  const state = async (): Promise<State> => (await node.call('GET', '/telemetry')).json as State;
  const ask = async (count: number): Promise<void> => {
    for (let request = 0; request < count; request++) await get(node.srv.port('web'), '/');
  };
  await ask(40);
  const full = await waitFor('dropped spans', async (): Promise<{ readonly error: string } | false> => {
    const { dropped, lastFailure } = await state();
    return dropped.queue_full > 0 && lastFailure !== null && lastFailure;
  });
  t.regex(full.error, /control plane/);
  await node.srv.waitForLog(/spans could not be exported to http:\/\/127\.0\.0\.1:\d+\/v1\/traces: /);
  t.true((await state()).waiting <= 20);
  await node.srv.configure(nodeConf(options(`http://127.0.0.1:${collector.port}`)));
  node.srv.signal('SIGHUP');
  await waitFor('the other endpoint', async () => (await state()).endpoint === `http://127.0.0.1:${collector.port}/v1/traces`);
  await ask(4);
  await collector.waitForSpans(4);
  await waitFor('all spans to be accounted for', async () => {
    const { exported, dropped, waiting } = await state();
    return waiting === 0 && exported === collector.spans.length && exported + dropped.queue_full + dropped.failed === 44;
  });
  await ask(3);
  await node.srv.stop('SIGQUIT');
  t.true(collector.spans.length >= 7);
  t.deepEqual(collector.errors, []);
});

test('without an exporter contexts go on to members', async (t) => {
  const backend = await httpBackend(t, (request, response) => response.end(request.headers['traceparent']));
  const srv = await startSrv(
    t,
    `load_module modules/srv_http_telemetry_module.so; worker_processes 1; events {}
    http { server { listen 127.0.0.1:%%PORT_web%%; telemetry on; location / { proxy_pass http://127.0.0.1:${backend.port}; } } }`,
  );
  t.regex((await get(srv.port('web'), '/')).body, /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
});
